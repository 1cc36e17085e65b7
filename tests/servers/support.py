"""What the checks of the servers share: a running server, a client, and the answers it takes."""
import contextlib
import json
import re
import select
import signal
import socket
import subprocess
import time

WAIT_S = 10  # for what should happen at once, on a busy machine
STOP_S = 2  # for a server to end that has nothing but idle connections
HELLO = b"HTTP/1.1 200 OK\nContent-Length: 12\n\nHello world!"
JSON = b"GET /json HTTP/1.1\r\nHost: x\r\n\r\n"


class Skip(Exception):
    """Why a check cannot be made here."""


class Server:
    """A running server. `words`: parameters and options. `workers` None: as many as it likes.
    `prefix`: a program that becomes the server."""

    options = []  # that every server gets

    def __init__(self, program, application, combination, words=(), workers=2, prefix=()):
        count = [] if workers is None else [str(workers)]
        self.process = subprocess.Popen(
            [*prefix, program, application, "127.0.0.1", "0", *count, *words,
             "--runtime", combination, *self.options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        try:
            line = self.line()
            found = re.fullmatch(
                r"listening on 127\.0\.0\.1:(\d+) with (\d+) workers, (\S+) (\S+)", line)
            assert found, f"printed {line!r}"
            assert found[3] == application and found[4] == combination, f"printed {line!r}"
            self.port = int(found[1])
            self.workers = int(found[2])
            assert workers in (None, self.workers), f"printed {line!r}"
        except BaseException:
            self.kill()
            raise

    def line(self):
        """The next line of its standard output."""
        text = b""
        end_s = time.monotonic() + WAIT_S
        while not text.endswith(b"\n"):
            left_s = max(0, end_s - time.monotonic())
            assert select.select([self.process.stdout], [], [], left_s)[0], f"printed only {text!r}"
            byte = self.process.stdout.read(1)
            assert byte, f"ended after {text!r}"
            text += byte
        return text[:-1].decode()

    def counters(self):
        """What SIGUSR1 prints."""
        self.process.send_signal(signal.SIGUSR1)
        return json.loads(self.line())

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S)

    def stop(self):
        """Every server of every check must end like this, having printed nothing more."""
        started_s = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=WAIT_S)
        took_s = time.monotonic() - started_s
        assert (self.process.returncode, out, err) == (0, b"", b""), \
            f"after SIGTERM: status {self.process.returncode}, printed {out!r} {err!r}"
        assert took_s < STOP_S, f"ended {took_s:.2f} s after SIGTERM"

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=WAIT_S)


@contextlib.contextmanager
def serving(program, application, combination, words=(), workers=2, prefix=()):
    server = Server(program, application, combination, words, workers, prefix)
    try:
        yield server
        if server.process.poll() is None:
            server.stop()
        else:
            assert server.process.returncode == 0, f"status {server.process.returncode}"
    finally:
        server.kill()


def receive(client, count):
    received = bytearray()
    while len(received) < count:
        part = client.recv(count - len(received))
        assert part, f"closed after {bytes(received)!r}"
        received += part
    return bytes(received)


def receive_to_end(client):
    received = bytearray()
    while part := client.recv(1 << 16):
        received += part
    return bytes(received)


class Answers:
    """Takes HTTP answers one by one from a connection."""

    def __init__(self, client):
        self.client = client
        self.rest = b""

    def next(self, head=False):
        """Status, header (names in lower case) and body."""
        while b"\r\n\r\n" not in self.rest:
            self._more()
        start, self.rest = self.rest.split(b"\r\n\r\n", 1)
        line, *fields = start.decode().split("\r\n")
        found = re.fullmatch(r"HTTP/1\.1 (\d{3}) [A-Z][A-Za-z ]+", line)
        assert found, f"status line {line!r}"
        header = {name.lower(): value for name, value in (field.split(": ") for field in fields)}
        assert len(header) == len(fields), f"a field twice: {fields}"
        count = 0 if head else int(header["content-length"])
        while len(self.rest) < count:
            self._more()
        body, self.rest = self.rest[:count], self.rest[count:]
        return int(found[1]), header, body

    def assert_end(self):
        assert self.rest == b"" and (more := self.client.recv(1)) == b"", f"{self.rest + more!r}"

    def _more(self):
        part = self.client.recv(1 << 16)
        assert part, f"closed after {self.rest!r}"
        self.rest += part


def eventually(condition, what, limit_s=WAIT_S):
    """Asks until the answer is yes."""
    end_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end_s, f"never came: {what}"


def run_checks(checks):
    """Prints TAP. Checks: (sentence, function without arguments). The exit status."""
    print(f"1..{len(checks)}", flush=True)
    failed = False
    for number, (sentence, check) in enumerate(checks, 1):
        try:
            check()
            print(f"ok {number} {sentence}", flush=True)
        except Skip as reason:
            print(f"ok {number} {sentence} # SKIP {reason}", flush=True)
        except Exception as error:  # a check's failure must not hide the others
            failed = True
            print(f"not ok {number} {sentence}")
            print(*(f"# {line}" for line in f"{type(error).__name__}: {error}".splitlines()),
                  sep="\n", flush=True)
    return 1 if failed else 0


def assert_refused(arguments, status, words):
    """One line on standard error that has all the words, and nothing else. The line."""
    result = run(arguments)
    shown = f"{arguments[1:]}: status {result.returncode}, {result.stderr!r}"
    assert result.returncode == status, shown
    assert result.stdout == "", f"{shown}, printed {result.stdout!r}"
    assert result.stderr.endswith("\n") and result.stderr.count("\n") == 1, shown
    for word in words:
        assert word in result.stderr, f"{shown}, lacks {word!r}"
    return result.stderr[:-1]


def run(arguments, limit_s=WAIT_S):
    return subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=limit_s)
