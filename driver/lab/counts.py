"""Untimed counts: system calls by kind, context switches and scheduler counters per request."""
from __future__ import annotations

import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from driver.console import Progress as Bar
from driver.console import say
from driver.lab import answers, drivers, session
from driver.lab.cells import Cell
from driver.lab.drivers.base import Context, Outcome
from driver.lab.failures import CellFailure, Interrupted
from driver.lab.journal import Journal
from driver.lab.measure import Laboratory, check_of, command_of, read_counters
from driver.lab.server import Server
from driver.lab.session import Usage

SCHEMA = "heddle-counts-1"
NAME = "counts.jsonl"
SECONDS = 1.0
PACKAGE = "strace"
_ATTACH_S = 5.0


def parse_strace(text: str) -> dict[str, int]:
    """Calls by name from the table of `strace -c`."""
    found = {}
    for line in text.splitlines():
        match = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?([a-z]\w*)$", line)
        if match and match.group(2) != "total":
            found[match.group(2)] = int(match.group(1))
    return found


class Trace:
    """strace attached to every process of a server, so that its start is not counted."""

    def __init__(self, pids: list[int], output: Path):
        """CellFailure when it does not get hold of them."""
        path = shutil.which("strace")
        if path is None:
            raise CellFailure(f"needs strace (Debian: {PACKAGE})")
        self.output = output
        command = [path, "-f", "-c", "-U", "time-percent,total-time,avg-time,calls,errors,name",
                   "-o", str(output)]
        for pid in pids:
            command += ["-p", str(pid)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        text=True, errors="replace", start_new_session=True)
        deadline_s = time.monotonic() + _ATTACH_S
        while not all(_tracer(pid) for pid in pids):
            if self.process.poll() is not None or time.monotonic() > deadline_s:
                self.process.kill()
                said = self.process.communicate()[1].strip().splitlines()
                raise CellFailure(f"strace: {said[-1] if said else 'did not attach'}")
            time.sleep(0.01)

    def end(self) -> dict[str, int]:
        """Lets go of the server. CellFailure without a table."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise CellFailure("strace did not end") from None
        try:
            return parse_strace(self.output.read_text(encoding="utf-8"))
        except OSError:
            raise CellFailure("strace wrote no table") from None


def _tracer(pid: int) -> bool:
    """Every thread of the process is being traced."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return all("\nTracerPid:\t0\n" not in (task / "status").read_text(encoding="utf-8")
                   for task in tasks)
    except OSError:
        return True  # it has gone


def _loaded(cell: Cell, lab: Laboratory, around: Callable[[Server, Callable[[], Outcome]], Outcome],
            stats: str) -> Outcome:
    """Starts the server, lets `around` run the load, stops it. CellFailure."""
    server = Server(command_of(cell, lab, stats), check_of(cell), cores=lab.pinning.server)
    try:
        server.wait_ready(lab.interrupt)
        context = Context(lab.build, 1, answers.body_bytes(server.first_answer),
                          lab.pinning.generator, lab.interrupt.check)
        outcome = around(server,
                         lambda: drivers.named(cell.driver).run(cell, server.port, context))
        server.check_alive("under load")
        if not outcome.requests:
            raise CellFailure(outcome.failure or "no request was answered")
        return outcome
    finally:
        server.stop()


def count(cell: Cell, lab: Laboratory) -> dict:
    """One row's counts as a record; two loads, since tracing changes how often a thread waits."""
    parameters = {key: value for key, value in cell.parameters.items() if key != "requests"}
    cell = replace(cell, parameters={**parameters, "duration_s": SECONDS})
    record = {"schema": SCHEMA, "cell": cell.cell, "row": cell.row, "group": cell.group,
              "workload": cell.workload, "kind": cell.kind, "ok": False, "failure": "",
              "requests": 0, "system_calls_per_request": None, "counters_per_request": None,
              "voluntary_switches_per_request": None, "involuntary_switches_per_request": None}
    with tempfile.TemporaryDirectory(prefix="heddle-counts-") as place:
        stats = Path(place) / "stats.json"
        used: dict = {}

        def watched(server: Server, load: Callable[[], Outcome]) -> Outcome:
            usage = Usage(server.session)
            usage.begin()
            outcome = load()
            used.update(usage.end())
            return outcome

        def traced(server: Server, load: Callable[[], Outcome]) -> Outcome:
            trace = Trace(session.members(server.session), Path(place) / "strace.txt")
            try:
                return load()
            finally:
                used["calls"] = trace.end()
        try:
            requests = _loaded(cell, lab, watched, str(stats)).requests
            record["requests"] = requests
            for kind in ("voluntary", "involuntary"):
                record[f"{kind}_switches_per_request"] = round(
                    used[f"{kind}_switches"] / requests, 6)
            record["counters_per_request"] = _each(read_counters(stats), requests)
            requests = _loaded(cell, lab, traced, "").requests
            record["system_calls_per_request"] = _each(used["calls"], requests)
            record["traced_requests"] = requests
            record["ok"] = True
        except CellFailure as failure:
            record["failure"] = str(failure)
    return record


def _each(counts: dict | None, requests: int) -> dict | None:
    return counts and {name: round(value / requests, 6) for name, value in counts.items()}


def run(lab: Laboratory) -> tuple[list[dict], bool]:
    """Counts every cell of servers that has none yet; the records, and whether it was interrupted.

    A reference is counted once. RunStopped on a full disk."""
    journal = Journal(lab.directory, NAME)
    records = journal.recover()
    counted = {record["cell"] for record in records if record["ok"]}
    todo = [cell for cell in lab.plan.cells if cell.kind not in ("queue", "fiber")
            and cell.reference != "A'" and cell.cell not in counted]
    bar = Bar()
    try:
        for number, cell in enumerate(todo, 1):
            bar.show(number - 1, len(todo), f"counting {cell.row}")
            lab.interrupt.check()
            record = count(cell, lab)
            journal.append(record)
            records.append(record)
            if not record["ok"]:
                bar.clear()
                say(f"heddle: counting {cell.cell}: {record['failure']}")
            elif not bar.live:
                say(f"heddle: counted {number} of {len(todo)}: {cell.row}")
    except Interrupted:
        return records, True
    finally:
        bar.clear()
        journal.close()
    return records, False


def table(records: list[dict]) -> str:
    """A block for each group: a row's switches and its most frequent system calls per request."""
    lines = []
    for group in dict.fromkeys(record["group"] for record in records):
        rows = [record for record in records if record["group"] == group and record["ok"]]
        width = max((len(record["row"]) for record in rows), default=0)
        lines.append(f"{group}: per request")
        for record in rows:
            calls = sorted(record["system_calls_per_request"].items(), key=lambda one: -one[1])
            shown = ", ".join(f"{name} {value:.2f}" for name, value in calls[:6] if value >= 0.005)
            total = sum(record["system_calls_per_request"].values())
            lines.append(f"  {record['row']:<{width}}  {total:.2f} system calls ({shown}); "
                         f"switches {record['voluntary_switches_per_request']:.3f} voluntary, "
                         f"{record['involuntary_switches_per_request']:.3f} involuntary")
    return "\n".join(lines)
