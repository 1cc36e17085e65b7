"""What every echo sends back. Each check takes a running server."""
import contextlib
import random
import socket
import threading

from peer_server import receive, receive_all, reset, stall


def sends_back_each_message(server):
    with server.connect() as client:
        for count in (1, 128, 512, 1024, 2018, 4096, 1):
            message = random.Random(count).randbytes(count)
            for _ in range(20):
                client.sendall(message)
                assert receive(client, count) == message, f"{count} bytes came back changed"


def sends_back_a_stream(server):
    stream = random.Random(5).randbytes(3 << 20)
    with server.connect() as client:
        sender = threading.Thread(target=client.sendall, args=(stream,))
        sender.start()
        back = receive(client, len(stream))
        sender.join()
        assert back == stream, "the stream came back changed"


def serves_many_at_once(server):
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(100)]
        for round_number in range(3):
            for number, client in enumerate(clients):
                client.sendall(b"%03d %03d" % (round_number, number))
            for number, client in enumerate(clients):
                assert receive(client, 7) == b"%03d %03d" % (round_number, number)


def sends_back_all_before_it_closes(server):
    for count in (1, 5000, 1 << 16):
        message = random.Random(count).randbytes(count)
        with server.connect() as client:
            client.sendall(message)
            client.shutdown(socket.SHUT_WR)
            assert receive_all(client) == message, f"{count} bytes came back changed"


def loses_nothing_to_slow_client(server):
    chunk = random.Random(7).randbytes(1 << 16)
    client, sent = stall(server, chunk)
    with client:
        client.shutdown(socket.SHUT_WR)
        back = receive_all(client)
        assert len(back) == sent, f"{len(back)} bytes came back of {sent}"
        assert back == (chunk * (sent // len(chunk) + 1))[:sent], "the stream came back changed"


def survives_reset(server):
    for _ in range(20):
        client = server.connect()
        client.sendall(b"x" * 50_000)
        reset(client)
    with server.connect() as client:
        client.sendall(b"still there")
        assert receive(client, 11) == b"still there"


ON_SERVER = [
    ("sends back messages of 1 to 4096 bytes", sends_back_each_message),
    ("sends back a stream of 3 MB", sends_back_a_stream),
    ("serves 100 connections at once", serves_many_at_once),
    ("sends back all to a half-closed connection, then closes", sends_back_all_before_it_closes),
    ("loses nothing to a client that reads late", loses_nothing_to_slow_client),
    ("survives clients that reset their connections", survives_reset),
]
