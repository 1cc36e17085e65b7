"""wrk as the load generator of the quick comparison: one run, its numbers with units.

Its percentiles are not read, because wrk rewrites them.
"""
from __future__ import annotations

import re
import shutil
import subprocess
import time
from dataclasses import asdict, dataclass

from driver.console import Problem, UsageProblem
from driver.servers import Interrupt, Interrupted, ServerFailure

_UNIT_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Load:
    """What each cell is measured with; `threads` of wrk share `connections` evenly."""

    connections: int
    threads: int
    seconds: int

    def __post_init__(self) -> None:
        if self.connections < self.threads or self.connections % self.threads:
            down = max(self.connections // self.threads, 1) * self.threads
            raise UsageProblem(
                f"--connections {self.connections}: each of wrk's {self.threads} threads gets the "
                f"same number; take {down} or {down + self.threads}")


@dataclass(frozen=True)
class Result:
    """The totals of one run."""

    requests: int
    duration_s: float
    throughput_rps: float
    connect_errors: int = 0
    read_errors: int = 0
    write_errors: int = 0
    timeout_errors: int = 0
    wrong_status_responses: int = 0

    @property
    def socket_errors(self) -> int:
        return self.connect_errors + self.read_errors + self.write_errors + self.timeout_errors

    def as_record(self) -> dict:
        return asdict(self)


def parse(text: str) -> Result:
    """wrk's report as numbers; ServerFailure with its last line when there is no report."""
    total = re.search(r"(\d+) requests in ([\d.]+)(us|ms|s|m|h)\b", text)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
    if not total or not rate:
        last = text.strip().splitlines()[-1:] or ["no output"]
        raise ServerFailure(f"wrk: {last[0]}")
    errors = re.search(r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    status = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    return Result(
        int(total.group(1)), float(total.group(2)) * _UNIT_S[total.group(3)], float(rate.group(1)),
        *(map(int, errors.groups()) if errors else (0, 0, 0, 0)),
        wrong_status_responses=int(status.group(1)) if status else 0)


def program() -> str:
    """The path of wrk; Problem when there is none."""
    path = shutil.which("wrk")
    if not path:
        raise Problem("wrk not found: run ./heddle setup")
    return path


def version() -> str:
    """wrk's own first line (it exits non-zero while printing it)."""
    done = subprocess.run([program(), "-v"], capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).splitlines()[0].split(" Copyright")[0].strip()


def run(port: int, load: Load, interrupt: Interrupt) -> Result:
    """Load `port` for `load.seconds`. ServerFailure when wrk fails or does not end in time."""
    command = [program(), f"-t{load.threads}", f"-c{load.connections}", f"-d{load.seconds}s",
               f"http://127.0.0.1:{port}/"]
    deadline_s = time.monotonic() + load.seconds + 15
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        while True:
            try:
                output = process.communicate(timeout=0.2)[0]
                break
            except subprocess.TimeoutExpired:
                interrupt.check()
                if time.monotonic() > deadline_s:
                    raise ServerFailure("wrk did not end in time") from None
    except (ServerFailure, Interrupted):
        process.kill()
        process.communicate()
        raise
    if process.returncode:
        raise ServerFailure(f"wrk: {(output.strip().splitlines() or ['failed'])[-1]}")
    return parse(output)
