"""heddle's own load generator: all protocols and modes, histograms, self-checks."""
from __future__ import annotations

import json

from driver.lab.cells import Cell
from driver.lab.drivers.base import ERROR_KINDS, Context, Outcome, run_program
from driver.lab.failures import CellFailure

SCHEMA = "heddle-loadgen-1"
PROGRAM = "loadgen/loadgen"
# A failed check of these fails the cell; of others it is shown.
_FATAL = ("connections",)
_MOST_S = 600.0  # of a run that ends after its requests


def command_of(cell: Cell, port: int, context: Context) -> list[str]:
    """The command line, without what ends the run."""
    parameters = cell.parameters
    words = [str(context.build / PROGRAM), "--host", "127.0.0.1", "--port", str(port),
             "--protocol", cell.protocol, "--mode", parameters["mode"],
             "--connections", str(parameters["connections"]),
             "--threads", str(parameters["threads"]), "--seed", str(context.seed)]
    if cell.protocol == "echo":
        words += ["--payload-bytes", str(max(parameters["payload_bytes"], 1))]
    else:
        words += ["--path", cell.path]
        if context.expected_bytes:
            words += ["--expect-bytes", str(context.expected_bytes)]
    if cell.protocol == "pipelined":
        words += ["--pipeline", str(parameters["pipeline"])]
    if parameters["mode"] == "think":
        words += ["--think-us", f"{parameters['think_us']:g}"]
    if parameters["mode"] == "open":
        words += ["--rate", f"{parameters['rate_rps']:g}"]
    return words


def parse(text: str, exit_status: int, last_line: str) -> Outcome:
    """The JSON object as an outcome; CellFailure when there is none."""
    try:
        found = json.loads(text)
        if found.get("schema") != SCHEMA:
            raise ValueError(f"schema {found.get('schema')}, not {SCHEMA}")
    except (ValueError, AttributeError):
        raise CellFailure(f"loadgen: {last_line}") from None
    errors = {kind: int(found["errors"].get(kind, 0)) for kind in ERROR_KINDS}
    latency = found.get("latency") or {}
    checks = {name: check.get("verdict", "fail") for name, check in found["checks"].items()}
    lag = found.get("send_lag") or {}
    outcome = Outcome(
        int(found["responses"]), float(found["duration_s"]), float(found["throughput_rps"]), errors,
        int(found["bytes_received"]),
        {name: latency.get(name) for name in ("mean", "p50", "p90", "p99", "p999", "p9999", "max")},
        found.get("histogram"),
        {"user_cpu_s": found["generator_cpu"]["user_s"],
         "system_cpu_s": found["generator_cpu"]["system_s"], "send_lag_p99_ns": lag.get("p99")},
        checks)
    if errors["timeout"]:
        outcome.notes.append(f"{errors['timeout']} requests timed out")
    outcome.failure = _failure(found, errors, checks, exit_status)
    return outcome


def _failure(found: dict, errors: dict, checks: dict, exit_status: int) -> str:
    """Why the load does not count. Requests that timed out are a result, as in wrk's reports."""
    if errors["status"]:
        return f"{errors['status']} answers were not 2xx"
    wrong = [f"{count} {kind} errors" for kind, count in errors.items()
             if count and kind != "timeout"]
    if wrong:
        return f"loadgen: {', '.join(wrong)}"
    for name in _FATAL:
        if checks.get(name) == "fail":
            return (f"loadgen: {found['connections_established']} of "
                    f"{found['connections_requested']} connections were established")
    if not found["complete"] or (exit_status and not errors["timeout"]):
        return "loadgen: the run was cut short"
    return ""


class Loadgen:
    """Connections exactly as asked, whatever the number of threads."""

    name = "loadgen"
    output = PROGRAM

    def unavailable(self) -> str:
        return ""

    def check(self, cell: Cell) -> None:
        """It does all that a campaign can say."""

    def warm_up(self, cell: Cell, port: int, context: Context) -> None:
        """A load of the same shape; what it finds is not kept."""
        command = command_of(cell, port, context)
        run_program([*command, "--duration-s", f"{cell.warmup_s:g}"], cell.warmup_s, context)

    def run(self, cell: Cell, port: int, context: Context) -> Outcome:
        parameters = cell.parameters
        command = command_of(cell, port, context)
        if "requests" in parameters:
            expected_s = _MOST_S
            command += ["--requests", str(parameters["requests"])]
        else:
            expected_s = parameters["duration_s"]
            command += ["--duration-s", f"{expected_s:g}"]
        done = run_program(command, expected_s, context)
        return parse(done.stdout, done.exit_status, done.last_line)
