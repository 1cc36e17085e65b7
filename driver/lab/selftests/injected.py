"""A known slow-down: the same server, one of them spinning a little longer in every request."""
from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from driver.analysis.comparison import Row, compare
from driver.analysis.records import Directory, Results
from driver.analysis.verdicts import SLOWER
from driver.lab.selftests.bench_cells import Bench, cell, make_plan, measure

ROW = "slower"
ROUNDS = 12
SECONDS = 1.0
METRIC = "cpu_us_per_request"
MOST_S = 180.0


@dataclass(frozen=True)
class Found:
    """What the comparison says of the slower server. `added_us`: processor time per request more
    than the reference's, which has the injected time in it and what follows from that."""

    verdict: str
    ratio: float
    low: float
    high: float
    added_us: float
    elapsed_s: float

    @property
    def is_found(self) -> bool:
        return self.verdict == SLOWER and self.elapsed_s <= MOST_S


def run(bench: Bench, injected_us: int) -> Found:
    """Measures A, A' and the slower server, and compares them by processor time per request."""
    started_s = time.monotonic()
    cells = [cell(bench, "A", "A", 0, SECONDS), cell(bench, "A A'", "A'", 0, SECONDS),
             cell(bench, ROW, "", injected_us, SECONDS)]
    made = make_plan(bench, "injected", cells, ROUNDS)
    records = measure(bench, made)
    return judge(records, time.monotonic() - started_s)


def judge(records: list[dict], elapsed_s: float) -> Found:
    """The verdict on ROW in records of this plan."""
    comparison = compare(Results([Directory(Path("."), records)]))
    rows: dict[str, Row] = {row.name: row for _, row in comparison.rows()}
    one = rows[ROW].metrics[METRIC]
    medians = {name: rows[name].median("server", METRIC) or 0.0 for name in ("A", ROW)}
    if one.ratio is None:
        return Found(one.verdict, 1.0, 0.0, float("inf"), 0.0, elapsed_s)
    return Found(one.verdict, one.ratio.median, one.ratio.low, one.ratio.high,
                 medians[ROW] - medians["A"], elapsed_s)
