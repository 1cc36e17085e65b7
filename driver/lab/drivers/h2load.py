"""h2load as a compatibility driver, speaking HTTP/1.1. It refuses hello's bare line feeds."""
from __future__ import annotations

import re

from driver.lab.cells import Cell
from driver.lab.drivers import system
from driver.lab.drivers.base import Context, Outcome, run_program
from driver.lab.failures import CellFailure


def parse(text: str) -> Outcome:
    """h2load's report as numbers; CellFailure when there is none."""
    total = re.search(r"finished in ([\d.]+(?:us|ms|s|m|h)), ([\d.]+) req/s", text)
    counts = re.search(r"requests: (\d+) total, \d+ started, (\d+) done, (\d+) succeeded, "
                       r"(\d+) failed, (\d+) errored, (\d+) timeout", text)
    status = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", text)
    traffic = re.search(r"traffic: .*?\((\d+)\) total", text)
    if not total or not counts or not status:
        last = text.strip().splitlines()[-1:] or ["no output"]
        raise CellFailure(f"h2load: {last[0]}")
    bad = sum(map(int, status.groups()[1:]))
    errors = {"read": int(counts.group(5)), "timeout": int(counts.group(6)), "status": bad}
    outcome = Outcome(int(counts.group(3)), system.seconds(total.group(1)), float(total.group(2)),
                      errors, int(traffic.group(1)) if traffic else 0)
    if bad:
        outcome.failure = f"{bad} answers were not 2xx"
    return outcome


class H2Load:
    """Closed loop, keep-alive, for requests or for a time."""

    name = "h2load"
    output = ""
    package = "nghttp2-client"

    def unavailable(self) -> str:
        return system.missing("h2load", self.package)

    def check(self, cell: Cell) -> None:
        system.only("h2load", cell, ("http", "pipelined"))
        system.even_share("h2load", cell.parameters["connections"],
                          cell.parameters["threads"])

    def warm_up(self, cell: Cell, port: int, context: Context) -> None:
        """None: h2load knows whole seconds only."""

    def run(self, cell: Cell, port: int, context: Context) -> Outcome:
        parameters = cell.parameters
        command = [system.program("h2load", self.package), "--h1",
                   "-c", str(parameters["connections"]), "-t", str(parameters["threads"]),
                   "-m", str(parameters["pipeline"])]
        if "requests" in parameters:
            expected_s = 600.0
            command += ["-n", str(parameters["requests"])]
        else:
            expected_s = parameters["duration_s"]
            command += ["-D", str(max(1, round(expected_s)))]
        done = run_program([*command, f"http://127.0.0.1:{port}{cell.path}"], expected_s, context)
        if done.exit_status:
            raise CellFailure(f"h2load: {done.last_line}")
        outcome = parse(done.stdout)
        outcome.generator = {"user_cpu_s": round(done.user_s, 6),
                             "system_cpu_s": round(done.system_s, 6), "send_lag_p99_ns": None}
        return outcome
