"""What the driver's tests share: the import path, tiny fake servers, fake programs on PATH."""
from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

GOOD_ANSWER = b"HTTP/1.1 200 OK\nContent-Length: 12\n\nHello world!"

SERVER = """#!/usr/bin/python3
import os, signal, socketserver, sys, time
ANSWER = {answer!r}
class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(4096):
            self.request.sendall(ANSWER)
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 128
    def handle_error(self, request, address): pass
{prologue}
Server((sys.argv[1], int(sys.argv[2])), Handler).serve_forever(0.05)
"""


def write_program(path: Path, text: str) -> Path:
    """An executable script at `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def write_server(path: Path, answer: bytes = GOOD_ANSWER, prologue: str = "") -> Path:
    """A server with the command line of all servers; `prologue` runs before it binds."""
    return write_program(path, SERVER.format(answer=answer, prologue=prologue))


def live_processes(marker: str) -> list[str]:
    """Command lines of processes that mention `marker`, zombies excluded."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                line = words.decode("utf-8", "replace")
                if marker in line:
                    found.append(line)
    return found


@contextlib.contextmanager
def captured():
    """(stdout, stderr) of what runs inside, as StringIO."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield out, err


# Loads a server over real TCP with the command line and the output of heddle's load generator.
LOADGEN = """#!/usr/bin/python3
import json, socket, sys, time
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
{prologue}
count, limit = int(given["--connections"]), int(given.get("--requests", 10**9))
errors = dict.fromkeys(("connect read write timeout status length content closed").split(), 0)
peers, done, received = [], 0, 0
for _ in range(count):
    try:
        peers.append(socket.create_connection((given["--host"], int(given["--port"])), 5))
    except OSError:
        errors["connect"] += 1
begin = time.monotonic()
end = begin + float(given.get("--duration-s", 10))
request = b"x" * int(given.get("--payload-bytes", 0)) or b"GET / HTTP/1.1\\r\\n\\r\\n"
while peers and done < limit and time.monotonic() < end:
    try:
        for peer in peers:
            peer.sendall(request)
        for peer in peers:
            answer = peer.recv(4096)
            if not answer:
                raise ConnectionError
            done, received = done + 1, received + len(answer)
            errors["status"] += answer.startswith(b"HTTP") and b" 200 " not in answer[:16]
    except OSError:
        errors["closed"] += 1
        break
took = time.monotonic() - begin
print(json.dumps({{
    "schema": "heddle-loadgen-1", "protocol": given["--protocol"], "mode": given["--mode"],
    "connections_requested": count, "connections_established": len(peers), "threads": 1,
    "duration_s": took, "requests": done, "responses": done, "throughput_rps": done / took,
    "bytes_received": received, "bytes_sent": done * len(request), "errors": errors,
    "latency": dict.fromkeys("mean min max p50 p90 p99 p999 p9999".split(),
                             took * 1e9 / (done or 1)),
    "histogram": {{"unit": "ns", "relative_error": 0.001, "buckets": [[0, 10**9, done]]}},
    "send_lag": {{"unit": "ns", "mean": 1, "p99": 2, "max": 3}},
    "generator_cpu": {{"user_s": time.process_time(), "system_s": 0.0}},
    "checks": {{"connections": {{"verdict": "pass"}}}}, "complete": True}}))
sys.exit(any(errors.values()))
"""


def write_loadgen(build: Path, prologue: str = "") -> Path:
    """A load generator in the place where a build has it; `prologue` runs before it connects."""
    return write_program(build / "loadgen" / "loadgen", LOADGEN.format(prologue=prologue))


def updates_golden() -> bool:
    """Whether golden files are to be written anew, with HEDDLE_UPDATE_GOLDEN=1."""
    return os.environ.get("HEDDLE_UPDATE_GOLDEN") == "1"
