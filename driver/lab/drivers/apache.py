"""ab as a compatibility driver: a new connection for each request, as HTTP/1.0 has it."""
from __future__ import annotations

import re

from driver.lab.cells import Cell
from driver.lab.drivers import system
from driver.lab.drivers.base import Context, Outcome, run_program
from driver.lab.failures import CellFailure

_MOST_RPS = 200_000  # ab keeps 32 bytes for each request that it may do


def parse(text: str) -> Outcome:
    """ab's report as numbers; CellFailure when there is none."""
    def number(label: str) -> float | None:
        match = re.search(rf"^{label}:\s+([\d.]+)", text, re.MULTILINE)
        return float(match.group(1)) if match else None
    requests, elapsed_s = number("Complete requests"), number("Time taken for tests")
    rate, received = number("Requests per second"), number("Total transferred")
    if requests is None or elapsed_s is None or rate is None:
        last = text.strip().splitlines()[-1:] or ["no output"]
        raise CellFailure(f"ab: {last[0]}")
    detail = re.search(r"Connect: (\d+), Receive: (\d+), Length: (\d+), Exceptions: (\d+)", text)
    errors = dict(zip(("connect", "read", "length", "closed"),
                      map(int, detail.groups()) if detail else (0, 0, 0, 0)))
    errors["write"] = int(number("Write errors") or 0)
    errors["status"] = int(number("Non-2xx responses") or 0)
    outcome = Outcome(int(requests), elapsed_s, rate, errors, int(received or 0))
    if errors["status"]:
        outcome.failure = f"{errors['status']} answers were not 2xx"
    return outcome


class ApacheBench:
    """One thread whatever the campaign says; ends after its requests or its time."""

    name = "ab"
    output = ""
    package = "apache2-utils"

    def unavailable(self) -> str:
        return system.missing("ab", self.package)

    def check(self, cell: Cell) -> None:
        system.only("ab", cell, ("http-close",))

    def warm_up(self, cell: Cell, port: int, context: Context) -> None:
        """None: every connection is new anyway."""

    def run(self, cell: Cell, port: int, context: Context) -> Outcome:
        parameters = cell.parameters
        command = [system.program("ab", self.package), "-q", "-r", "-s", "10",
                   "-c", str(parameters["connections"])]
        if "requests" in parameters:
            expected_s = 600.0
            command += ["-n", str(parameters["requests"])]
        else:
            expected_s = parameters["duration_s"]
            seconds = max(1, round(expected_s))
            command += ["-t", str(seconds), "-n", str(seconds * _MOST_RPS)]
        done = run_program([*command, f"http://127.0.0.1:{port}{cell.path}"], expected_s, context)
        if done.exit_status:
            raise CellFailure(f"ab: {done.last_line}")
        outcome = parse(done.stdout)
        outcome.notes.append("ab is one thread")
        outcome.generator = {"user_cpu_s": round(done.user_s, 6),
                             "system_cpu_s": round(done.system_s, 6), "send_lag_p99_ns": None}
        return outcome
