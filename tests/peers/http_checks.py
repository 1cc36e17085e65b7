"""What json answers, and nginx's hello. Each check takes a running server and what is expected."""
import email.utils
import socket
import time

from peer_server import WAIT_S, receive, receive_all

END = b"\r\n\r\n"


class Expected:
    """The answer to GET of `path`. `equal`: in which of "bytes" or "length" its header is that of
    heddle's own json server; None when a peer has headers of its own."""

    def __init__(self, path, content_type, body, equal=None):
        self.request = f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        self.content_type = content_type
        self.body = body
        self.equal = equal

    def check(self, head):
        """AssertionError unless `head` is right in every header, the date included."""
        status, *lines = head[:-len(END)].decode().split("\r\n")
        assert status == "HTTP/1.1 200 OK", f"answered {status!r}"
        header = dict(line.split(": ", 1) for line in lines)
        assert header["Content-Type"] == self.content_type, header
        assert header["Content-Length"] == str(len(self.body)), header
        date = header["Date"]
        sent = email.utils.parsedate_to_datetime(date)
        assert email.utils.format_datetime(sent, usegmt=True) == date, date
        assert abs(sent.timestamp() - time.time()) < WAIT_S, f"date: {date}"
        assert header["Server"], header
        heddle = (f"HTTP/1.1 200 OK\r\nServer: heddle\r\nDate: {date}\r\nContent-Type: "
                  f"{self.content_type}\r\nContent-Length: {len(self.body)}\r\n\r\n").encode()
        assert self.equal != "bytes" or head == heddle, f"answered {head!r}"
        assert self.equal != "length" or len(head) == len(heddle), f"answered {head!r}"


JSON = ("/json", "application/json", b'{"message":"Hello, World!"}')


def receive_answer(client, expected):
    head = b""
    while not head.endswith(END):
        head += receive(client, 1)
    expected.check(head)
    body = receive(client, len(expected.body))
    assert body == expected.body, f"body {body!r}"


def answers_on_one_connection(server, expected):
    with server.connect() as client:
        for _ in range(50):
            client.sendall(expected.request)
            receive_answer(client, expected)


def answers_byte_by_byte(server, expected):
    with server.connect() as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in expected.request:
            client.sendall(bytes([byte]))
        receive_answer(client, expected)


def serves_several_at_once(server, expected):
    clients = [server.connect() for _ in range(20)]
    for _ in range(3):
        for client in clients:
            client.sendall(expected.request)
        for client in clients:
            receive_answer(client, expected)
    for client in clients:
        client.close()


def answers_half_closed(server, expected):
    with server.connect() as client:
        client.sendall(expected.request)
        client.shutdown(socket.SHUT_WR)
        receive_answer(client, expected)
        assert (rest := receive_all(client)) == b"", f"then sent {rest!r}"


def answers_pipelined(server, expected):
    with server.connect() as client:
        client.sendall(expected.request * 200)
        for _ in range(200):
            receive_answer(client, expected)


def closes_when_asked(server, expected):
    with server.connect() as client:
        client.sendall(expected.request.replace(END, b"\r\nConnection: close\r\n\r\n"))
        answer = receive_all(client)
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n") and answer.endswith(END + expected.body), \
            f"answered {answer!r}"


def answers_another_path(server, _):
    with server.connect() as client:
        client.sendall(b"GET /unknown HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert (answer := receive_all(client)).startswith(b"HTTP/1.1 404 "), f"answered {answer!r}"


def checks(peer, protocol):
    """Those for a server of `protocol` by `peer`, with what is expected bound."""
    if protocol == "hello":
        expected = Expected("/", "text/plain", b"Hello world!")
    else:
        equal = {"nginx": None, "guile-builtin": None, "go": "length", "tokio": "length"}
        expected = Expected(*JSON, equal.get(peer, "bytes"))
    chosen = [
        ("answers 50 requests in turn, headers and date right", answers_on_one_connection),
        ("answers a request that comes byte by byte", answers_byte_by_byte),
        ("serves 20 connections at once", serves_several_at_once),
        ("answers a half-closed connection, then closes", answers_half_closed),
        ("closes a connection when asked to", closes_when_asked),
    ]
    if protocol == "json":
        chosen.append(("answers another path with 404", answers_another_path))
    if peer != "guile-builtin":  # it waits for the socket with a request already in its buffer
        chosen.append(("answers 200 requests of one write", answers_pipelined))
    return [(sentence, lambda server, check=check: check(server, expected))
            for sentence, check in chosen]
