"""What every hello answers, the workloads included. Each check takes a running server."""
import contextlib
import select
import socket
import time

from peer_server import REQUEST, RESPONSE, ask, receive, receive_all, reset, stall


def answers_exact_bytes(server):
    with server.connect() as client:
        ask(client)
        time.sleep(0.05)
        assert not select.select([client], [], [], 0)[0], "more came than one response"


def answers_each_half(server):
    with server.connect() as client:
        ask(client, REQUEST[:9])
        ask(client, REQUEST[9:])


def answers_long_request(server):
    with server.connect() as client:
        client.sendall(b"x" * 3000)
        assert receive(client, 3 * len(RESPONSE)) == 3 * RESPONSE


def keeps_connection(server):
    with server.connect() as client:
        for _ in range(200):
            ask(client)


def serves_many_at_once(server):
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(100)]
        for _ in range(3):
            for client in clients:
                client.sendall(REQUEST)
            for client in clients:
                assert receive(client) == RESPONSE


def answers_half_closed(server):
    for _ in range(20):
        with server.connect() as client:
            client.sendall(REQUEST)
            client.shutdown(socket.SHUT_WR)
            assert (answer := receive_all(client)) == RESPONSE, f"answered {answer!r}"


def survives_reset(server):
    for round_number in range(40):
        client = server.connect()
        client.sendall(REQUEST * (1 if round_number % 2 else 2000))
        reset(client)
    with server.connect() as client:
        ask(client)


def loses_nothing_to_slow_client(server):
    client, sent = stall(server)
    with client:
        client.shutdown(socket.SHUT_WR)
        answer = receive_all(client)
        count = len(answer) // len(RESPONSE)
        assert answer == count * RESPONSE, "responses are damaged"
        assert count * 1024 >= sent, f"{count} responses to {sent} bytes"


ON_SERVER = [
    ("answers a request with exactly the reference's bytes", answers_exact_bytes),
    ("answers each half of a request that is sent in two", answers_each_half),
    ("answers a long request once for every 1024 bytes", answers_long_request),
    ("serves 200 requests in turn on one connection", keeps_connection),
    ("serves 100 connections at once", serves_many_at_once),
    ("answers a half-closed connection in full, then closes", answers_half_closed),
    ("survives clients that reset their connections", survives_reset),
    ("loses nothing to a client that reads late", loses_nothing_to_slow_client),
]
