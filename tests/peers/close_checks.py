"""What every http-close does. Each check takes a running server."""
import contextlib
import socket

from peer_server import REQUEST, receive_all, reset, wait_for

RESPONSE = (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\n"
            b"Content-Length: 36\r\n\r\nHello world! 120 bytes and closing.\n")


def answers_once_and_closes(server):
    for _ in range(100):
        with server.connect() as client:
            client.sendall(REQUEST)
            assert (answer := receive_all(client)) == RESPONSE, f"answered {answer!r}"


def serves_many_at_once(server):
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(100)]
        for client in clients:
            client.sendall(REQUEST)
        for client in clients:
            assert receive_all(client) == RESPONSE


def closes_what_sends_nothing(server):
    with server.connect() as client:
        client.shutdown(socket.SHUT_WR)
        assert (answer := receive_all(client)) == b"", f"answered {answer!r}"


def keeps_no_descriptor(server):
    idle = server.descriptors_when_idle()
    for number in range(50):
        client = server.connect()
        if number % 2:
            client.sendall(REQUEST)
        reset(client)
    wait_for(lambda: server.open_descriptors() <= idle, "descriptors are left open")


ON_SERVER = [
    ("answers 120 bytes and closes, 100 times", answers_once_and_closes),
    ("serves 100 connections at once", serves_many_at_once),
    ("closes a connection that ends without a request", closes_what_sends_nothing),
    ("keeps no descriptor of connections that are gone", keeps_no_descriptor),
]
