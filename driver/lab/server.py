"""One server under test: start on a free port, readiness, right answers, a checked end."""
from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass

from driver.lab import affinity, answers, session
from driver.lab.failures import CellFailure, Interrupt, RunStopped, describe_exit

POLL_S = 0.01
HOST = "127.0.0.1"


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nothing listens on now; RunStopped when there is none."""
    try:
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            return probe.getsockname()[1]
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EADDRNOTAVAIL):
            raise RunStopped(f"no port can be opened: {error.strerror}") from None
        raise RunStopped("no free port is left in net.ipv4.ip_local_port_range: closed connections "
                         "hold them for a minute; wait, or widen the range") from None


def listens(port: int, pids: list[int]) -> bool:
    """One of the processes holds the listening socket of the port, so the answer is its own."""
    wanted = f"0100007F:{port:04X}", f"00000000:{port:04X}"
    inodes = set()
    with open("/proc/net/tcp", encoding="utf-8") as table:
        for line in table:
            fields = line.split()
            if len(fields) > 9 and fields[1] in wanted and fields[3] == "0A":
                inodes.add(f"socket:[{fields[9]}]")
    for pid in pids:
        try:
            for name in os.listdir(f"/proc/{pid}/fd"):
                try:
                    if os.readlink(f"/proc/{pid}/fd/{name}") in inodes:
                        return True
                except OSError:
                    continue
        except PermissionError:
            return True  # another user's, as with a wrapper that changes it: cannot be told
        except OSError:
            continue
    return False


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


class Server:
    """A program that serves HOST PORT, from start to a checked end."""

    def __init__(self, command: list[str], check: answers.Check, padding: int = 0,
                 cores: frozenset[int] | None = None):
        """Start it on a free port, which takes the place of `{port}` in the command; `padding`
        bytes of environment shift its stack between rounds.

        CellFailure when the program cannot be run.
        """
        self.port = free_port()
        self.check = check
        self.first_answer = b""  # the first right one
        self._log = tempfile.TemporaryFile()
        environment = {**os.environ, "HEDDLE_PADDING": "x" * padding}
        words = [word.replace("{port}", str(self.port)) for word in command]
        try:
            with affinity.on(cores):
                self.process = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
                    env=environment, start_new_session=True)
        except OSError as error:
            self._log.close()
            raise CellFailure(f"cannot be run: {error.strerror}") from None
        self.session = self.process.pid

    def check_alive(self, when: str) -> None:
        """CellFailure with its last words when the process is gone."""
        status = self.process.poll()
        if status is not None:
            self._log.seek(0)
            words = self._log.read()[-4096:].decode("utf-8", "replace").strip().splitlines()
            said = f": {words[-1].strip()[:200]}" if words else ""
            raise CellFailure(f"{describe_exit(status)} {when}{said}")

    def wait_ready(self, interrupt: Interrupt, timeout_s: float = 10.0) -> None:
        """Poll until one answer is right. CellFailure: dead, wrong bytes, silent to the end, or the
        port is another program's."""
        deadline_s = time.monotonic() + timeout_s
        is_strange = False
        while time.monotonic() < deadline_s:
            interrupt.check()
            self.check_alive("before it answered")
            try:
                answer = answers.exchange(self.port, self.check, 0.5)
            except OSError:
                answer = b""
            is_strange = bool(answer) and not listens(self.port, session.members(self.session))
            if answer and not is_strange:
                answers.demand(answer, self.check)
                self.first_answer = answer
                return
            time.sleep(POLL_S)
        if is_strange:
            raise CellFailure(f"port taken: another program answers on {self.port}")
        raise CellFailure(f"no answer within {timeout_s:g} s")

    def check_answer(self) -> None:
        """One more exchange after the load. CellFailure: dead, refusing or wrong."""
        self.check_alive("under load")
        try:
            answer = answers.exchange(self.port, self.check, 2.0)
        except OSError as error:
            raise CellFailure(f"no answer after the load: {error}") from None
        answers.demand(answer, self.check)

    def stop(self, grace_s: float = 5.0) -> Stop:
        """SIGTERM, then SIGKILL for what is left of the session after `grace_s`; returns once all
        is gone. CellFailure when something outlives even that."""
        had_ended = self.process.poll() is not None
        if not had_ended:
            self.process.terminate()
        self._wait_gone(grace_s)
        left = len(session.members(self.session))
        if left:
            for pid in session.members(self.session):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self._wait_gone(2.0)
        if self.process.poll() is None or session.members(self.session):
            raise CellFailure("a process of the server outlived SIGKILL")
        self._log.close()
        name = "SIGKILL" if left else "none, it had ended" if had_ended else "SIGTERM"
        return Stop(name, left, self.process.returncode)

    def _wait_gone(self, timeout_s: float) -> None:
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            if self.process.poll() is not None and not session.members(self.session):
                return
            time.sleep(POLL_S)
