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
