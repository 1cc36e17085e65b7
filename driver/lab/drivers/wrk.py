"""wrk as a compatibility driver. Its percentiles are not read, because wrk rewrites them."""
from __future__ import annotations

import re

from driver.console import UsageProblem
from driver.lab.cells import Cell
from driver.lab.drivers import system
from driver.lab.drivers.base import Context, Outcome, run_program, whole_seconds
from driver.lab.failures import CellFailure


def parse(text: str) -> Outcome:
    """wrk's report as numbers; CellFailure with its last line when there is no report."""
    total = re.search(r"(\d+) requests in ([\d.]+(?:us|ms|s|m|h))\b", text)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
    if not total or not rate:
        last = text.strip().splitlines()[-1:] or ["no output"]
        raise CellFailure(f"wrk: {last[0]}")
    errors = re.search(r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    status = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    kinds = dict(zip(("connect", "read", "write", "timeout"),
                     map(int, errors.groups()) if errors else (0, 0, 0, 0)))
    kinds["status"] = int(status.group(1)) if status else 0
    outcome = Outcome(int(total.group(1)), system.seconds(total.group(2)), float(rate.group(1)),
                      kinds)
    if kinds["status"]:
        outcome.failure = f"{kinds['status']} answers were not 2xx"
    return outcome


class Wrk:
    """Closed loop, keep-alive, whole seconds."""

    name = "wrk"
    output = ""
    package = "wrk"

    def unavailable(self) -> str:
        return system.missing("wrk", self.package)

    def check(self, cell: Cell) -> None:
        system.only("wrk", cell, ("http",))
        system.even_share("wrk", cell.parameters["connections"],
                          cell.parameters["threads"])
        if "requests" in cell.parameters:
            raise UsageProblem("driver wrk runs for a time; allowed: seconds, not "
                               "requests-per-connection")

    def warm_up(self, cell: Cell, port: int, context: Context) -> None:
        """wrk knows whole seconds, which a warm-up before every cell is not worth."""

    def run(self, cell: Cell, port: int, context: Context) -> Outcome:
        parameters = cell.parameters
        duration_s = whole_seconds(cell)
        command = [system.program("wrk", self.package), f"-t{parameters['threads']}",
                   f"-c{parameters['connections']}", f"-d{duration_s}s",
                   f"http://127.0.0.1:{port}{cell.path}"]
        done = run_program(command, duration_s, context)
        if done.exit_status:
            raise CellFailure(f"wrk: {done.last_line}")
        outcome = parse(done.stdout)
        outcome.generator = {"user_cpu_s": round(done.user_s, 6),
                             "system_cpu_s": round(done.system_s, 6), "send_lag_p99_ns": None}
        return outcome
