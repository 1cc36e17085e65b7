"""One server under test: start, readiness, processor time, stop.

A server runs in a session of its own, so that Ctrl-C at the terminal does not reach it, and so that
the processes it forks can be found: processor time and survivors are those of the whole session.
"""
from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass

REQUEST = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
# Byte for byte the answer of every hello server, ours and peers.
RESPONSE = b"HTTP/1.1 200 OK\nContent-Length: 12\n\nHello world!"
POLL_S = 0.01
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class ServerFailure(Exception):
    """The server did not start, died or answered wrongly; the text is the record's reason."""


class Interrupted(Exception):
    """A signal asked to stop; raised only where nothing is left behind."""


class Interrupt:
    """Turns SIGINT, SIGTERM and SIGHUP into a flag that `check` raises at safe points."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self.requested = False
        self._previous: dict[int, object] = {}

    def __enter__(self) -> Interrupt:
        for number in self.SIGNALS:
            self._previous[number] = signal.signal(number, self._request)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _request(self, *_: object) -> None:
        self.requested = True

    def check(self) -> None:
        """Raises Interrupted once a signal has come."""
        if self.requested:
            raise Interrupted


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def exchange(port: int, timeout_s: float) -> bytes:
    """What the server answers to one request: as many bytes as the right answer has, or those that
    came before it closed or fell silent for `timeout_s`. OSError when it does not accept."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout_s) as peer:
        peer.sendall(REQUEST)
        try:
            while len(answer) < len(RESPONSE):
                part = peer.recv(4096)
                if not part:
                    break
                answer += part
        except TimeoutError:
            pass
    return answer


def _session_times(session: int) -> list[tuple[int, int]]:
    """(user ticks, system ticks) of each live process of the session; zombies are not live."""
    times = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            times.append((int(fields[11]), int(fields[12])))
    return times


@dataclass(frozen=True)
class Processor:
    """Processor seconds that a server has used so far."""

    user_s: float
    system_s: float


@dataclass(frozen=True)
class Stop:
    """How the server ended: the signal that did it, and how many processes had to be killed."""

    stop_signal: str
    killed_processes: int
    exit_status: int | None

    @property
    def note(self) -> str:
        """Empty for a clean end."""
        if self.killed_processes:
            return f"{self.killed_processes} process(es) needed SIGKILL"
        clean = (0, -signal.SIGTERM, 128 + signal.SIGTERM)
        return "" if self.exit_status in clean else f"ended with {describe_exit(self.exit_status)}"


def describe_exit(status: int | None) -> str:
    """Popen's return code in words."""
    if status is not None and status < 0:
        return f"signal {-status}"
    return f"exit status {status}"


class Server:
    """`BINARY HOST PORT WORKERS`, from start to a checked end."""

    def __init__(self, binary: str, workers: int, padding: int = 0):
        """Start it on a free port; `padding` bytes of environment shift its stack between rounds.

        ServerFailure when the binary cannot be run.
        """
        self.port = free_port()
        self._log = tempfile.TemporaryFile()
        environment = {**os.environ, "HEDDLE_PADDING": "x" * padding}
        try:
            self.process = subprocess.Popen(
                [binary, "127.0.0.1", str(self.port), str(workers)], stdin=subprocess.DEVNULL,
                stdout=self._log, stderr=self._log, env=environment, start_new_session=True)
        except OSError as error:
            self._log.close()
            raise ServerFailure(f"cannot be run: {error.strerror}") from None
        self.session = self.process.pid

    def check_alive(self, when: str) -> None:
        """ServerFailure with its last words when the process is gone."""
        status = self.process.poll()
        if status is not None:
            self._log.seek(0)
            words = self._log.read()[-4096:].decode("utf-8", "replace").strip().splitlines()
            said = f": {words[-1].strip()[:200]}" if words else ""
            raise ServerFailure(f"{describe_exit(status)} {when}{said}")

    def wait_ready(self, interrupt: Interrupt, timeout_s: float = 10.0) -> None:
        """Poll until one answer is right. ServerFailure: dead, wrong bytes, silent to the end."""
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            interrupt.check()
            self.check_alive("before it answered")
            try:
                answer = exchange(self.port, 0.5)
            except OSError:
                answer = b""
            if answer:
                self._compare(answer)
                return
            time.sleep(POLL_S)
        raise ServerFailure(f"no answer within {timeout_s:g} s")

    def check_answer(self) -> None:
        """One more exchange after the load. ServerFailure: dead, refusing or wrong."""
        self.check_alive("under load")
        try:
            answer = exchange(self.port, 2.0)
        except OSError as error:
            raise ServerFailure(f"no answer after the load: {error}") from None
        self._compare(answer)

    @staticmethod
    def _compare(answer: bytes) -> None:
        if answer != RESPONSE:
            raise ServerFailure(f"wrong bytes: {answer[:80]!r} instead of {RESPONSE!r}")

    def processor(self) -> Processor:
        """Processor time of the session so far; its resolution is one tick, 10 ms as a rule."""
        times = _session_times(self.session)
        return Processor(sum(user for user, _ in times) / TICKS_PER_S,
                         sum(system for _, system in times) / TICKS_PER_S)

    def stop(self, grace_s: float = 5.0) -> Stop:
        """SIGTERM, then SIGKILL for what is left of the session after `grace_s`; returns once all
        is gone. ServerFailure when something outlives even that."""
        had_ended = self.process.poll() is not None
        if not had_ended:
            self.process.terminate()
        self._wait_gone(grace_s)
        left = len(_session_times(self.session))
        if left:
            try:
                os.killpg(self.session, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self._wait_gone(2.0)
        if self.process.poll() is None or _session_times(self.session):
            raise ServerFailure("a process of the server outlived SIGKILL")
        self._log.close()
        name = "SIGKILL" if left else "none, it had ended" if had_ended else "SIGTERM"
        return Stop(name, left, self.process.returncode)

    def _wait_gone(self, timeout_s: float) -> None:
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            if self.process.poll() is not None and not _session_times(self.session):
                return
            time.sleep(POLL_S)
