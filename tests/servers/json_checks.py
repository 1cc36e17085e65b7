"""What json must do on every combination. Each check takes the program and a combination."""
import email.utils
import random
import socket
import time

from support import JSON, WAIT_S, Answers, receive, serving

JSON_BODY = b'{"message":"Hello, World!"}'
PLAINTEXT_BODY = b"Hello, World!"
PLAINTEXT = b"GET /plaintext HTTP/1.1\r\nHost: x\r\n\r\n"
UNKNOWN = b"GET /unknown HTTP/1.1\r\nHost: x\r\n\r\n"


def assert_json(answer, connection=None):
    status, header, body = answer
    assert (status, body) == (200, JSON_BODY), f"answered {answer}"
    assert header["content-type"] == "application/json" and header["server"] == "heddle", header
    assert header.get("connection") == connection, f"connection: {header.get('connection')}"
    sent = email.utils.parsedate_to_datetime(header["date"])
    assert email.utils.format_datetime(sent, usegmt=True) == header["date"], header["date"]
    assert abs(sent.timestamp() - time.time()) < WAIT_S, f"date: {header['date']}"


def keep_alive(program, combination):
    with serving(program, "json", combination) as server, server.connect() as client:
        answers = Answers(client)
        for _ in range(100):
            client.sendall(JSON)
            assert_json(answers.next())


def pipeline(program, combination):
    kinds = [(JSON, 200, JSON_BODY), (PLAINTEXT, 200, PLAINTEXT_BODY),
             (UNKNOWN, 404, b"Not Found\n")]
    order = [random.Random(2).choice(kinds) for _ in range(1000)]
    with serving(program, "json", combination) as server, server.connect() as client:
        client.sendall(b"".join(request for request, _, _ in order))
        answers = Answers(client)
        for number, (_, status, body) in enumerate(order):
            answer = answers.next()
            assert (answer[0], answer[2]) == (status, body), f"answer {number}: {answer}"
        assert answers.rest == b"", "more came"


def answer_byte_by_byte(program, combination):
    with serving(program, "json", combination) as server, server.connect() as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answers = Answers(client)
        for _ in range(3):
            for byte in JSON:
                client.sendall(bytes([byte]))
            assert_json(answers.next())


def close_as_asked(program, combination):
    with serving(program, "json", combination) as server, server.connect() as client:
        answers = Answers(client)
        client.sendall(JSON + JSON.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + JSON)
        assert_json(answers.next())
        assert_json(answers.next(), "close")
        answers.assert_end()


def answer_1_0(program, combination):
    with serving(program, "json", combination) as server:
        with server.connect() as client:
            answers = Answers(client)
            for _ in range(3):
                client.sendall(b"GET /json HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
                assert_json(answers.next(), "keep-alive")
            client.sendall(b"GET /json HTTP/1.0\r\n\r\n")
            assert_json(answers.next(), "close")
            answers.assert_end()


def answer_half_closed(program, combination):
    with serving(program, "json", combination) as server:
        for count in (1, 1, 1, 2000):
            with server.connect() as client:
                client.sendall(JSON * count)
                client.shutdown(socket.SHUT_WR)
                answers = Answers(client)
                for _ in range(count):
                    assert_json(answers.next())
                answers.assert_end()


def answer_other_requests(program, combination):
    post = b"POST /json HTTP/1.1\r\nHost: x\r\n"
    with serving(program, "json", combination) as server:
        with server.connect() as client:
            answers = Answers(client)
            client.sendall(UNKNOWN)
            assert answers.next()[0] == 404
            for body in (b"Content-Length: 5\r\n\r\nabcde",
                         b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"):
                client.sendall(post + body)
                status, header, _ = answers.next()
                assert (status, header["allow"]) == (405, "GET, HEAD"), f"{status} {header}"
            client.sendall(JSON.replace(b"GET", b"HEAD"))
            status, header, _ = answers.next(head=True)
            assert (status, header["content-length"]) == (200, str(len(JSON_BODY))), header
            client.sendall(post + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n")
            go_on = b"HTTP/1.1 100 Continue\r\n\r\n"
            assert (answer := receive(client, len(go_on))) == go_on, f"answered {answer!r}"
            client.sendall(b"abcde" + JSON)
            assert answers.next()[0] == 405
            assert_json(answers.next())


def refuse_requests(program, combination):
    start = b"GET /json HTTP/1.1\r\nHost: x\r\n"
    table = [
        (b"nonsense\r\n\r\n", 400),
        (start + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (start + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", 400),
        (start + b"Content-Length: 1073741824\r\n\r\n", 413),
        (b"GET /json HTTP/2.0\r\nHost: x\r\n\r\n", 505),
    ]
    with serving(program, "json", combination) as server:
        for request, expected in table:
            with server.connect() as client:
                client.sendall(JSON + request)
                answers = Answers(client)
                assert_json(answers.next())
                status, header, _ = answers.next()
                assert (status, header["connection"]) == (expected, "close"), f"{request}: {status}"
                answers.assert_end()


def refuse_endless_header(program, combination):
    part = b"A: " + b"a" * 1019 + b"\r\n"
    with serving(program, "json", combination) as server, server.connect() as client:
        client.sendall(b"GET /json HTTP/1.1\r\nHost: x\r\n" + part * (16 << 10))
        client.shutdown(socket.SHUT_WR)
        answers = Answers(client)
        assert (status := answers.next()[0]) == 431, f"answered {status}"
        answers.assert_end()


CHECKS = [
    ("json answers 100 requests on one connection", keep_alive),
    ("json answers 1000 requests of one write in order", pipeline),
    ("json answers requests that come byte by byte", answer_byte_by_byte),
    ("json closes the connection when asked to", close_as_asked),
    ("json closes or keeps HTTP/1.0 connections as asked", answer_1_0),
    ("json gives a client that half-closes the whole reply", answer_half_closed),
    ("json answers other paths and methods, and drops bodies", answer_other_requests),
    ("json refuses what it must not guess at, and closes", refuse_requests),
    ("json answers 16 MB of header with one 431", refuse_endless_header),
]
