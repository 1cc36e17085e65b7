"""A peer server under test, and what a client of it does. Every wait is bounded."""
import contextlib
import os
import pathlib
import select
import signal
import socket
import subprocess

RESPONSE = b"HTTP/1.1 200 OK\nContent-Length: 12\n\nHello world!"
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
WAIT_S = 10  # for what should happen at once, on a busy machine


class Server:
    """A running binary on a port that the system chose."""

    def __init__(self, binary, workers):
        self.process = subprocess.Popen([binary, "127.0.0.1", "0", str(workers)],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        readable, _, _ = select.select([self.process.stdout], [], [], WAIT_S)
        line = self.process.stdout.readline().decode() if readable else ""
        prefix = "listening on 127.0.0.1:"
        if not line.startswith(prefix):
            self.kill()
            raise AssertionError(f"printed {line!r} instead of '{prefix}PORT'")
        self.port = int(line[len(prefix):])

    def connect(self, receive_buffer_bytes=None):
        client = socket.socket()
        client.settimeout(WAIT_S)
        if receive_buffer_bytes:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        client.connect(("127.0.0.1", self.port))
        return client

    def cpu_s(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = status.rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """Every server of every check must end like this, having printed nothing more."""
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=WAIT_S)
        assert (self.process.returncode, out, err) == (0, b"", b""), \
            f"after SIGTERM: status {self.process.returncode}, printed {out!r} {err!r}"

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=WAIT_S)


@contextlib.contextmanager
def serving(binary, workers=2):
    server = Server(binary, workers)
    try:
        yield server
        server.stop()
    finally:
        server.kill()


def receive(client, count=len(RESPONSE)):
    received = b""
    while len(received) < count:
        part = client.recv(count - len(received))
        assert part, f"closed after {received!r}"
        received += part
    return received


def receive_all(client):
    received = bytearray()
    while part := client.recv(1 << 16):
        received += part
    return bytes(received)


def ask(client, request=REQUEST):
    client.sendall(request)
    answer = receive(client)
    assert answer == RESPONSE, f"answered {answer!r}"
