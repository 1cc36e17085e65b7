"""A peer server under test, and what a client of it does. Every wait is bounded."""
import contextlib
import os
import pathlib
import select
import signal
import socket
import subprocess
import time

RESPONSE = b"HTTP/1.1 200 OK\nContent-Length: 12\n\nHello world!"
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
WAIT_S = 30  # for what should happen at once, on a machine that is busy with other builds


class Skip(Exception):
    """Why a check says nothing about this program."""


class Program:
    """`path`, named PROTOCOL-PEER, and what it is started with after HOST PORT WORKERS."""

    PROTOCOLS = ("hello-timeout", "hello", "echo", "json", "http-close", "fanout", "pipeline",
                 "imbalance", "contended", "sleepers")

    def __init__(self, path):
        self.path = path
        self.name = pathlib.Path(path).name
        self.protocol = next((protocol for protocol in self.PROTOCOLS
                              if self.name.startswith(protocol + "-")), None)
        if self.protocol is None:
            raise ValueError(f"{path} is not named PROTOCOL-PEER")
        self.peer = self.name[len(self.protocol) + 1:]


def _session_of(process):
    """The processes of a session that are not zombies."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
                if int(fields[3]) == process and fields[0] not in "ZX":
                    found.append(int(folder.name))
    return found


class Server:
    """A running program on a port that the system chose."""

    def __init__(self, program, workers, parameters=()):
        self.process = subprocess.Popen(
            [program.path, "127.0.0.1", "0", str(workers), *parameters],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        readable, _, _ = select.select([self.process.stdout], [], [], WAIT_S)
        line = self.process.stdout.readline().decode() if readable else ""
        prefix = "listening on 127.0.0.1:"
        if not line.startswith(prefix):
            self.kill()
            raise AssertionError(f"printed {line!r} instead of '{prefix}PORT'")
        self.port = int(line[len(prefix):].split()[0])

    def connect(self, receive_buffer_bytes=None):
        client = socket.socket()
        client.settimeout(WAIT_S)
        if receive_buffer_bytes:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        client.connect(("127.0.0.1", self.port))
        return client

    def processes(self):
        """The server and what it has started."""
        return _session_of(self.process.pid)

    def cpu_s(self):
        ticks = 0
        for process in self.processes():
            status = pathlib.Path(f"/proc/{process}/stat").read_text()
            fields = status.rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def open_descriptors(self):
        return sum(len(os.listdir(f"/proc/{process}/fd")) for process in self.processes())

    def descriptors_when_idle(self):
        """How many are open once no number has come out lower for a while."""
        fewest, since_s = self.open_descriptors(), time.monotonic()
        while time.monotonic() < since_s + 0.3:
            time.sleep(0.01)
            if (now := self.open_descriptors()) < fewest:
                fewest, since_s = now, time.monotonic()
        return fewest

    def stop(self):
        """Every server of every check must end like this, having printed nothing more."""
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=WAIT_S)
        assert (self.process.returncode, out, err) == (0, b"", b""), \
            f"after SIGTERM: status {self.process.returncode}, printed {out!r} {err!r}"
        self.assert_gone()

    def assert_gone(self):
        """No process is left, or none is soon."""
        wait_for(lambda: not self.processes(), "a process is left")

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.process.communicate(timeout=WAIT_S)


@contextlib.contextmanager
def serving(program, workers=2, parameters=()):
    server = Server(program, workers, parameters)
    try:
        yield server
        if server.process.returncode is None:
            server.stop()
    finally:
        server.kill()


def wait_for(condition, otherwise):
    """Until `condition` holds; AssertionError when it does not in time."""
    deadline_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline_s, otherwise
        time.sleep(0.01)


def receive(client, count=len(RESPONSE)):
    received = bytearray()
    while len(received) < count:
        part = client.recv(count - len(received))
        assert part, f"closed after {bytes(received[-200:])!r}"
        received += part
    return bytes(received)


def receive_all(client):
    received = bytearray()
    while part := client.recv(1 << 16):
        received += part
    return bytes(received)


def ask(client, request=REQUEST):
    client.sendall(request)
    answer = receive(client)
    assert answer == RESPONSE, f"answered {answer!r}"


def reset(client):
    """Closes so that the server sees a reset."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.close()


def stall(server, chunk=b"x" * (1 << 16)):
    """A client that sent until the server, whose answers it does not read, took no more; and how
    many bytes it sent."""
    client = server.connect(receive_buffer_bytes=4096)
    sent = 0
    client.settimeout(0.3)
    with contextlib.suppress(TimeoutError):
        while True:
            sent += client.send(chunk[sent % len(chunk):])
            assert sent < 1 << 28, "the server reads on though its responses are not read"
    client.settimeout(WAIT_S)
    return client, sent
