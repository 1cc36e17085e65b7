"""From records to a comparison: per round the ratio to the reference, then median and interval.

Pairing inside a round takes out what changes slowly on a shared machine; the reference runs twice
in every round, and its ratio to itself is the noise band.
"""
from __future__ import annotations

import math
import random
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

RESAMPLES = 2000
FEWEST_ROUNDS_FOR_95 = 6  # the range of n values covers their median with 1 - 2^(1-n): 0.969 at six


@dataclass(frozen=True)
class Estimate:
    """A median over `rounds` rounds with its interval; all in the unit of the values."""

    median: float
    low: float
    high: float
    rounds: int


def hodges_lehmann(values: list[float]) -> float:
    """The median of the means of all pairs, a value with itself included: as little moved by
    outliers as the median, but surer when the values scatter evenly."""
    return statistics.median((values[i] + values[j]) / 2
                             for i in range(len(values)) for j in range(i, len(values)))


def estimate(values: list[float], seed: int = 0, resamples: int = RESAMPLES,
             centre: Callable[[list[float]], float] = statistics.median) -> Estimate | None:
    """Centre with a 95 % bootstrap interval over rounds; with fewer than six rounds the interval is
    the whole range, which covers less than 95 %. None without values."""
    if not values:
        return None
    middle = centre(values)
    if len(values) < FEWEST_ROUNDS_FOR_95:
        return Estimate(middle, min(values), max(values), len(values))
    chance = random.Random(seed)
    count = len(values)
    low, high = interval(centre(chance.choices(values, k=count)) for _ in range(resamples))
    return Estimate(middle, low, high, count)


def interval(resampled: Iterable[float]) -> tuple[float, float]:
    """The middle 95 % of what the resamples gave."""
    ordered = sorted(resampled)
    return ordered[int(len(ordered) * 0.025)], ordered[int(len(ordered) * 0.975) - 1]


def ratio_estimate(ratios: list[float], seed: int = 0, resamples: int = RESAMPLES
                   ) -> Estimate | None:
    """Hodges-Lehmann estimate of the logarithms, as a ratio: turned upside down, the ratios give
    the estimate upside down."""
    found = estimate([math.log(ratio) for ratio in ratios], seed, resamples, hodges_lehmann)
    return found and Estimate(math.exp(found.median), math.exp(found.low), math.exp(found.high),
                              found.rounds)


@dataclass
class Summary:
    """One row of the table. Ratios are to the reference of the same round, below 1 is less."""

    row: str
    kind: str = ""
    cpu_ratio: Estimate | None = None
    throughput_ratio: Estimate | None = None
    cpu_us_per_request: float | None = None
    throughput_rps: float | None = None
    socket_errors: int = 0
    cells: int = 0
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    cpu_ratios: list[float] = field(default_factory=list)

    def errors_text(self) -> str:
        """What went wrong in this row, each thing once; empty when nothing did."""
        parts = []
        if self.failures:
            parts.append(f"{len(self.failures)} of {self.cells} cells failed: {self.failures[0]}")
        if self.socket_errors:
            parts.append(f"{self.socket_errors} socket errors")
        return "; ".join(parts + list(dict.fromkeys(self.notes)))


def summarize(records: list[dict], reference: str, seed: int = 0) -> list[Summary]:
    """A summary for each row that has a record, cheapest first; rows without a ratio come last."""
    by_row: dict[str, list[dict]] = defaultdict(list)
    base: dict[int, dict] = {}
    for record in records:
        by_row[record["row"]].append(record)
        if record["row"] == reference and record["ok"]:
            base[record["round"]] = record
    summaries = []
    for row, cells in by_row.items():
        good = [cell for cell in cells if cell["ok"]]
        paired = [(cell, base[cell["round"]]) for cell in good if cell["round"] in base]

        def ratios(key: str) -> list[float]:
            return [cell[key] / other[key] for cell, other in paired]

        def median(key: str) -> float | None:
            return statistics.median(cell[key] for cell in good) if good else None

        cpu = ratios("server_cpu_us_per_request")
        summaries.append(Summary(
            row, cells[0].get("kind", ""),
            estimate(cpu, seed), estimate(ratios("throughput_rps"), seed),
            median("server_cpu_us_per_request"), median("throughput_rps"),
            sum(cell.get(f"{kind}_errors", 0) for cell in cells
                for kind in ("connect", "read", "write", "timeout")),
            len(cells), [cell["failure"] for cell in cells if not cell["ok"]],
            [cell["note"] for cell in cells if cell.get("note")], cpu))
    return sorted(summaries, key=lambda summary: (
        (0, summary.cpu_ratio.median) if summary.cpu_ratio else (1, 0.0), summary.row))
