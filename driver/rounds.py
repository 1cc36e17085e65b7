"""Interleaved rounds: every row once a round in seeded random order, each cell recorded at once."""
from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from driver import wrk
from driver.console import Progress, clock_time, say
from driver.servers import Interrupt, Interrupted, Server, ServerFailure
from driver.wrk import Load

SCHEMA = "heddle-rounds-1"
CELL_OVERHEAD_S = 0.3  # start, readiness, stop; only for the first estimate


@dataclass(frozen=True)
class Row:
    """One line of the comparison; `kind` says shared or prefork for a peer."""

    name: str
    binary: str
    kind: str = ""


@dataclass(frozen=True)
class Plan:
    """`rounds` None: as many as fit into `budget_s`, at least one."""

    rows: tuple[Row, ...]
    load: Load
    workers: int
    seed: int
    budget_s: float
    rounds: int | None = None

    def expected_rounds(self) -> int:
        if self.rounds is not None:
            return self.rounds
        return max(1, int(self.budget_s / (len(self.rows) * (self.load.seconds + CELL_OVERHEAD_S))))


class Journal:
    """rounds.jsonl: one line a cell, on the disk before the next cell starts."""

    def __init__(self, directory: Path):
        self._file = open(directory / "rounds.jsonl", "a", encoding="utf-8")

    def append(self, record: dict) -> None:
        self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def measure(row: Row, plan: Plan, padding: int, interrupt: Interrupt) -> dict:
    """One cell: start, wait for a right answer, load, check again, stop.

    A failed cell is a record with `ok` false and the reason; only Interrupted is raised.
    """
    record: dict = {"ok": False, "failure": "", "note": "", "environment_padding_bytes": padding}
    try:
        server = Server(row.binary, plan.workers, padding)
    except ServerFailure as failure:
        return {**record, "failure": str(failure)}
    try:
        started_s = time.monotonic()
        server.wait_ready(interrupt)
        record["ready_ms"] = round((time.monotonic() - started_s) * 1e3, 1)
        before = server.processor()
        result = wrk.run(server.port, plan.load, interrupt)
        after = server.processor()
        record.update(result.as_record())
        server.check_answer()
        if result.wrong_status_responses:
            raise ServerFailure(f"{result.wrong_status_responses} answers were not 2xx")
        if not result.requests:
            raise ServerFailure("no request was answered under load")
        record["server_user_cpu_s"] = round(after.user_s - before.user_s, 6)
        record["server_system_cpu_s"] = round(after.system_s - before.system_s, 6)
        used_s = record["server_user_cpu_s"] + record["server_system_cpu_s"]
        record["server_cpu_us_per_request"] = used_s / result.requests * 1e6
        if used_s <= 0:
            raise ServerFailure("used less than one tick of processor time: load it for longer")
        record["ok"] = True
    except ServerFailure as failure:
        record["failure"] = str(failure)
    finally:
        try:
            stop = server.stop()
            record.update(stop_signal=stop.stop_signal, killed_processes=stop.killed_processes)
            record["note"] = stop.note if record["ok"] or stop.killed_processes else ""
        except ServerFailure as failure:
            record.update(ok=False, failure=str(failure))
    return record


def _orders(plan) -> Iterator[tuple[int, list, random.Random]]:
    """Endless rounds with their order; the same seed gives the same orders and paddings."""
    number = 0
    while True:
        number += 1
        chance = random.Random(f"{plan.seed}/{number}")
        rows = list(plan.rows)
        chance.shuffle(rows)
        yield number, rows, chance


def run(plan: Plan, journal: Journal, interrupt: Interrupt) -> tuple[list[dict], bool]:
    """All rounds of the plan; returns the records and whether it was interrupted."""
    def cell(row: Row, chance: random.Random) -> dict:
        record = measure(row, plan, chance.randrange(4096), interrupt)
        return {"schema": SCHEMA, "row": row.name, "kind": row.kind, "binary": row.binary,
                "connections": plan.load.connections, "workers": plan.workers,
                "seconds": plan.load.seconds, **record}
    return repeat(plan, journal, interrupt, cell)


def repeat(plan, journal: Journal, interrupt: Interrupt,
           cell: Callable[[object, random.Random], dict]) -> tuple[list[dict], bool]:
    """Measures each of `plan.rows` once a round by `cell`, whose record says `ok`, or not and
    `failure`. `plan` also has `seed`, `budget_s`, `rounds` and `expected_rounds()`, as in Plan;
    rows have a `name`. Returns the records and whether it was interrupted."""
    records: list[dict] = []
    progress = Progress()
    started_s = time.monotonic()
    expected = plan.expected_rounds()
    for number, rows, chance in _orders(plan):
        for position, row in enumerate(rows, 1):
            progress.show(len(records), expected * len(rows),
                          f"round {number}/{expected} {row.name}")
            begun_s = time.time()
            try:
                interrupt.check()
                record = cell(row, chance)
            except Interrupted:
                progress.clear()
                return records, True
            record = {**record, "round": number, "position": position, "seed": plan.seed,
                      "started_unix_s": round(begun_s, 3)}
            journal.append(record)
            records.append(record)
            if not record["ok"]:
                progress.clear()
                say(f"heddle: round {number}: {row.name} failed: {record['failure']}")
        elapsed_s = time.monotonic() - started_s
        if not any(record["ok"] for record in records):
            say("heddle: not one cell of the first round could be measured")
            return records, False
        if plan.rounds is None:
            expected = number + max(0, int((plan.budget_s - elapsed_s) / (elapsed_s / number)))
        if not progress.live:
            left_s = elapsed_s / number * (expected - number)
            end = f", ends about {clock_time(left_s)}" if number < expected else ""
            say(f"heddle: round {number} of {expected}: {len(rows)} cells, "
                f"{elapsed_s:.0f} s so far{end}")
        if number >= expected:
            progress.clear()
            return records, False
    raise AssertionError("the rounds are endless")
