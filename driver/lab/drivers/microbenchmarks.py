"""Microbenchmarks as drivers: each run is one process that measures and prints a value."""
from __future__ import annotations

import json
from pathlib import Path

from driver.console import UsageProblem
from driver.lab.cells import Cell
from driver.lab.drivers.base import Context, Outcome, run_program
from driver.lab.failures import CellFailure

QUEUE_SCHEMA = "heddle-queue-bench-1"
_QUEUE_PARAMETERS = {"workload": "--workload", "think_ns": "--think-ns",
                     "steal_percent": "--steal-percent"}
_FIBER_BENCHMARKS = ("yield", "spawn_join")


def _object(text: str, program: str, last_line: str) -> dict:
    try:
        found = json.loads(text)
        if isinstance(found, dict):
            return found
    except ValueError:
        pass
    raise CellFailure(f"{program}: {last_line}")


def _allow(cell: Cell, allowed: tuple[str, ...]) -> None:
    for name in cell.parameters["workload"]:
        if name not in allowed:
            raise UsageProblem(f"driver {cell.driver} has no parameter '{name}'; "
                               f"allowed: {', '.join(allowed)}")


class Queues:
    """One queue, one workload: million operations a second."""

    name = "queues"
    output = ""

    def unavailable(self) -> str:
        return ""

    def check(self, cell: Cell) -> None:
        _allow(cell, tuple(_QUEUE_PARAMETERS))
        if "workload" not in cell.parameters["workload"]:
            raise UsageProblem("driver queues needs parameters.workload, such as \"pairwise\"")

    def warm_up(self, cell: Cell, port: int, context: Context) -> None:
        """None: the program's first tenth is its warm-up."""

    def run(self, cell: Cell, port: int, context: Context) -> Outcome:
        duration_s = cell.parameters["duration_s"]
        command = [str(context.build / cell.binary), "--threads", str(cell.parameters["workers"]),
                   "--duration-ms", str(max(1, round(duration_s * 1000))),
                   "--seed", str(context.seed)]
        for name, value in cell.parameters["workload"].items():
            command += [_QUEUE_PARAMETERS[name], str(value)]
        done = run_program(command, duration_s, context)
        found = _object(done.stdout, Path(command[0]).name, done.last_line)
        if done.exit_status or found.get("schema") != QUEUE_SCHEMA:
            raise CellFailure(f"{Path(command[0]).name}: {done.last_line}")
        return Outcome(found["operations"], duration_s, value=found["mops_per_second"],
                       unit="million operations/s")


class Fibers:
    """What a yield, or a fiber's whole life, costs: ns of processor time each, on one worker."""

    name = "fibers"
    output = ""

    def unavailable(self) -> str:
        return ""

    def check(self, cell: Cell) -> None:
        _allow(cell, ("benchmark",))
        benchmark = cell.parameters["workload"].get("benchmark")
        if benchmark not in _FIBER_BENCHMARKS:
            raise UsageProblem(f"driver fibers: parameters.benchmark '{benchmark}'; "
                               f"allowed: {', '.join(_FIBER_BENCHMARKS)}")

    def warm_up(self, cell: Cell, port: int, context: Context) -> None:
        """None: the program finds its number of iterations in runs that do not count."""

    def run(self, cell: Cell, port: int, context: Context) -> Outcome:
        benchmark = cell.parameters["workload"]["benchmark"]
        subject = cell.row.removesuffix(" A'")
        duration_s = cell.parameters["duration_s"]
        command = [str(context.build / cell.binary), "--benchmark_format=json",
                   f"--benchmark_filter=^{benchmark}/{subject}$",
                   f"--benchmark_min_time={duration_s:g}"]
        done = run_program(command, duration_s * 4, context)
        found = _object(done.stdout, Path(command[0]).name, done.last_line).get("benchmarks", [])
        if done.exit_status or not found or found[0].get("error_occurred"):
            message = found[0].get("error_message") if found else done.last_line
            raise CellFailure(f"{Path(command[0]).name}: {message}")
        one = found[0]
        value = one.get("ns_per_yield", one["cpu_time"])
        return Outcome(one["iterations"], one["iterations"] * one["real_time"] * 1e-9,
                       value=value, unit="ns")
