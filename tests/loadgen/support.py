"""What the tests of loadgen share: the programs under test, running servers, and servers that are
broken in one way each. Every server listens on a port that the system chose; every wait is bounded."""
import contextlib
import json
import pathlib
import re
import socket
import struct
import subprocess
import sys
import threading
import time

LOADGEN = sys.argv[1]
HEDDLE_SERVER, RUNTIME = sys.argv[2:4]
RAW_EPOLL = next((word for word in sys.argv[4:] if "raw-epoll" in word), None)
WAIT_S = 60  # for what takes a second or two, on a busy machine
SCHEMA = pathlib.Path(__file__).parents[2] / "loadgen" / "result.schema.json"
HELLO = b"HTTP/1.1 200 OK\nContent-Length: 12\n\nHello world!"


def validate(result):
    """AssertionError when `result` is not what the schema describes."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    try:
        import jsonschema
    except ImportError:
        missing = set(schema["required"]) - set(result)
        assert not missing, f"lacks {sorted(missing)}"
        return
    jsonschema.validate(result, schema)
    counted = sum(count for _, _, count in result["histogram"]["buckets"])
    assert counted == result["responses"] + result["unanswered"], "the histogram lacks some"


class Run:
    """One run of loadgen: `status`, `error` (standard error) and `result` (what it printed)."""

    def __init__(self, *words):
        self.process = subprocess.Popen([LOADGEN, *map(str, words)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.status, self.error, self.result = None, "", None

    def finish(self):
        try:
            text, self.error = self.process.communicate(timeout=WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        self.status = self.process.returncode
        assert text.count("\n") == 1, f"status {self.status}, printed {text!r} {self.error!r}"
        self.result = json.loads(text)
        validate(self.result)
        return self

    def sockets(self):
        """How many sockets it has open now; 0 when it has ended."""
        count = 0
        with contextlib.suppress(OSError):
            for link in pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    count += "socket:" in str(link.readlink())
        return count

    def wait_for_connections(self, count):
        while self.process.poll() is None and self.sockets() < count:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(0.005)


def measure(port, *words):
    """A run that must succeed: its result."""
    run = Run("--port", port, *words).finish()
    assert run.status == 0, f"status {run.status}: {run.error!r}, {run.result['errors']}"
    assert run.error == "", run.error
    assert run.result["complete"] and run.result["ended_by"] == "planned", run.result
    assert not any(run.result["errors"].values()), run.result["errors"]
    return run.result


@contextlib.contextmanager
def serving(*command):
    """A server process; yields it with its `port`."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    try:
        process.port = re.search(r":(\d+)(?:\s|$)", process.stdout.readline())[1]
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def heddle(application, host="127.0.0.1"):
    return serving(HEDDLE_SERVER, application, host, "0", "2", "--runtime", RUNTIME)


class Scripted:
    """A server whose connections are each handled by `behave(connection, number)` in a thread of
    their own; `number` counts connections from 0."""

    def __init__(self, behave, backlog=256):
        self.behave = behave
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=backlog)
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.accepted = 0
        self.connections = []
        self.peers = []
        self.acceptor = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self):
        self.acceptor.start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.acceptor.join(WAIT_S)
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, peer = self.listener.accept()
                with self.lock:
                    number = self.accepted
                    self.accepted += 1
                    self.connections.append(connection)
                    self.peers.append(peer)
                threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()

    def _serve(self, connection, number):
        with contextlib.suppress(OSError):
            self.behave(connection, number)
        connection.close()

    def count(self):
        """The connections that were made before this call: accepted in order, before one of its own."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S) as last:
            own = last.getsockname()
            while not any(one == own for one in self.peers):
                time.sleep(0.005)
            return self.peers.index(own)


def answering(make_response):
    """Behaviour: answers request `count` of a connection with make_response(count), to the end."""
    def behave(connection, _number):
        count = 0
        while connection.recv(65536):
            connection.sendall(make_response(count))
            count += 1
    return behave


def stall(connection, _number):
    """Behaviour: reads and says nothing."""
    while connection.recv(65536):
        pass


def reset(connection):
    """Closes so that the other side gets a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
