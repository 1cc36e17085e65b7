"""What a right answer is: exact bytes for hello and the workloads, an echo, or a JSON message."""
from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass

from driver.lab.failures import CellFailure

# Byte for byte the answer of every hello server, ours and peers.
HELLO = b"HTTP/1.1 200 OK\nContent-Length: 12\n\nHello world!"
MESSAGE = {"message": "Hello, World!"}


@dataclass(frozen=True)
class Check:
    """One request, when its answer is whole, and what is wrong with an answer (empty: nothing)."""

    request: bytes
    is_whole: Callable[[bytes], bool]
    fault: Callable[[bytes], str]


def _get(path: str, version: str) -> bytes:
    return f"GET {path} HTTP/{version}\r\nHost: 127.0.0.1\r\n\r\n".encode()


def _exactly(expected: bytes) -> Callable[[bytes], str]:
    def fault(answer: bytes) -> str:
        if answer == expected:
            return ""
        return f"wrong bytes: {answer[:80]!r} instead of {expected[:80]!r}"
    return fault


def _parts(answer: bytes) -> tuple[list[str], bytes] | None:
    """Lines of the header, and the body so far; None while the header is not over."""
    match = re.search(rb"\r?\n\r?\n", answer)
    if not match:
        return None
    return answer[:match.start()].decode("latin-1").splitlines(), answer[match.end():]


def _length(lines: list[str]) -> int | None:
    for line in lines[1:]:
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-length" and value.strip().isdigit():
            return int(value)
    return None


def body_bytes(answer: bytes) -> int:
    """Length of what follows the header; 0 for what has none."""
    parts = _parts(answer)
    return len(parts[1]) if parts else 0


def _is_whole(answer: bytes) -> bool:
    parts = _parts(answer)
    length = _length(parts[0]) if parts else None
    return length is not None and len(parts[1]) >= length


def _http_fault(answer: bytes) -> str:
    """Of any answer that is HTTP, says 200, and is as long as it says."""
    parts = _parts(answer)
    if parts is None:
        return f"wrong bytes: {answer[:80]!r} is no HTTP answer"
    lines, body = parts
    if not re.match(r"HTTP/1\.[01] 200\b", lines[0] if lines else ""):
        return f"wrong status: {lines[0][:80] if lines else ''!r}"
    if _length(lines) != len(body):
        return f"wrong length: Content-Length {_length(lines)}, but {len(body)} bytes came"
    return ""


def _json_fault(answer: bytes) -> str:
    fault = _http_fault(answer)
    if fault:
        return fault
    lines, body = _parts(answer)
    names = {line.partition(":")[0].strip().lower() for line in lines[1:]}
    missing = {"content-type", "content-length", "server", "date"} - names
    if missing:
        return f"wrong header: no {', '.join(sorted(missing))}"
    try:
        message = json.loads(body)
    except ValueError:
        message = None
    return "" if message == MESSAGE else f"wrong bytes: {body[:80]!r} instead of a JSON message"


def check_for(workload: str, path: str = "/", payload_bytes: int = 0, version: str = "1.1"
              ) -> Check:
    """The check of a workload; all but echo, json and http-close answer as hello does, and `http` is
    for peers whose hello has a header of its own. `version`:
    1.0 where the load opens a connection for each request, since json's answer then differs."""
    if workload == "echo":
        payload = os.urandom(max(payload_bytes, 1))
        return Check(payload, lambda answer: len(answer) >= len(payload), _exactly(payload))
    if workload == "json":
        return Check(_get(path, version), _is_whole, _json_fault)
    if workload in ("http", "http-close"):
        return Check(_get(path, version), _is_whole, _http_fault)
    return Check(_get(path, version), lambda answer: len(answer) >= len(HELLO), _exactly(HELLO))


def exchange(port: int, check: Check, timeout_s: float) -> bytes:
    """What the server answers to one request: a whole answer, or what came before it closed or fell
    silent for `timeout_s`. OSError when it does not accept."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout_s) as peer:
        peer.sendall(check.request)
        try:
            while not check.is_whole(answer):
                part = peer.recv(65536)
                if not part:
                    break
                answer += part
        except TimeoutError:
            pass
    return answer


def demand(answer: bytes, check: Check) -> None:
    """CellFailure for a wrong answer."""
    fault = check.fault(answer)
    if fault:
        raise CellFailure(fault)
