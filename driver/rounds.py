"""Interleaved rounds: every row once a round in seeded random order, each cell recorded at once."""
from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator

from driver.console import Progress, clock_time, say
from driver.lab.failures import Interrupt, Interrupted
from driver.lab.journal import Journal


def _orders(plan) -> Iterator[tuple[int, list, random.Random]]:
    """Endless rounds with their order; the same seed gives the same orders."""
    number = 0
    while True:
        number += 1
        chance = random.Random(f"{plan.seed}/{number}")
        rows = list(plan.rows)
        chance.shuffle(rows)
        yield number, rows, chance


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
