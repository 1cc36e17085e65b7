"""What a load driver is: it loads a port as a cell asks, and says what came of it."""
from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from driver.lab import affinity
from driver.lab.cells import Cell
from driver.lab.failures import CellFailure, describe_exit

ERROR_KINDS = ("connect", "read", "write", "timeout", "status", "length", "content", "closed")
_GRACE_S = 20  # beside the time that the load should take


@dataclass
class Outcome:
    """One load. `failure`: why it does not count, else empty. Times in seconds, latency in ns."""

    requests: int = 0
    measured_s: float = 0.0
    throughput_rps: float = 0.0
    errors: dict[str, int] = field(default_factory=dict)
    bytes_received: int = 0
    latency_ns: dict | None = None
    histogram: dict | None = None
    generator: dict | None = None
    checks: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    failure: str = ""
    value: float | None = None
    unit: str | None = None


@dataclass(frozen=True)
class Context:
    """What a driver needs beside the cell: where programs are, what a run may do meanwhile."""

    build: Path
    seed: int = 0
    expected_bytes: int = 0
    cores: frozenset[int] | None = None
    tick: Callable[[], None] = lambda: None


class Driver(Protocol):
    """A load generator, or a microbenchmark, which is its own server."""

    name: str
    output: str  # what to build, relative to the build directory; empty for a system's program

    def unavailable(self) -> str:
        """Why it cannot run here, with the package that has it; empty when it can."""

    def check(self, cell: Cell) -> None:
        """UsageProblem when it cannot do what the cell asks."""

    def run(self, cell: Cell, port: int, context: Context) -> Outcome:
        """One load. CellFailure when nothing came of it; Interrupted from `context.tick`."""

    def warm_up(self, cell: Cell, port: int, context: Context) -> None:
        """A short load before the measured one, where the driver can do one."""


@dataclass(frozen=True)
class Run:
    """How a program ended, with its processor time in seconds."""

    exit_status: int
    stdout: str
    stderr: str
    user_s: float
    system_s: float

    @property
    def last_line(self) -> str:
        """Its last words, or how it ended when it had none."""
        lines = (self.stderr or self.stdout).strip().splitlines()
        return lines[-1].strip()[:300] if lines else describe_exit(self.exit_status)


def run_program(command: list[str], expected_s: float, context: Context) -> Run:
    """Runs it to its end, ticking meanwhile. CellFailure when it cannot run or does not end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    deadline_s = time.monotonic() + expected_s + _GRACE_S
    try:
        with affinity.on(context.cores):
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True, errors="replace", start_new_session=True)
    except OSError as error:
        raise CellFailure(f"{command[0]} cannot be run: {error.strerror}") from None
    try:
        while True:
            try:
                out, err = process.communicate(timeout=0.1)
                break
            except subprocess.TimeoutExpired:
                context.tick()
                if time.monotonic() > deadline_s:
                    raise CellFailure(f"{Path(command[0]).name} did not end in time") from None
    except BaseException:
        process.kill()
        process.communicate()
        raise
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Run(process.returncode, out, err, after.ru_utime - before.ru_utime,
               after.ru_stime - before.ru_stime)


def whole_seconds(cell: Cell) -> int:
    """The cell's duration for programs that know whole seconds only."""
    return max(1, round(cell.parameters["duration_s"]))
