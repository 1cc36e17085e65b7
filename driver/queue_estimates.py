"""From records of queue programs to a comparison: cell by cell, each queue beside the reference."""
from __future__ import annotations

import math
import statistics
from collections import defaultdict
from dataclasses import dataclass, field

from driver.analysis.estimates import FEWEST_ROUNDS_FOR_95, Estimate, estimate, ratio_estimate
from driver.analysis.histograms import quantile_estimates
from driver.analysis.verdicts import Band, differ
from driver.queue_cells import AGAIN, Cell, QueueRow, reference_of

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}


@dataclass
class QueueSummary:
    """One queue in one cell. `ratio` is of operations a second to the reference in the same round;
    `rank` is that of the fastest queue that it cannot be told from."""

    queue: str
    ratio: Estimate | None = None
    mops_per_second: Estimate | None = None
    latency_ns: dict[str, Estimate | None] = field(default_factory=dict)
    rank: int = 0
    runs: int = 0
    failures: list[str] = field(default_factory=list)
    failed_exchanges: float | None = None  # for each operation, from the untimed run
    contended_locks: float | None = None
    bytes_per_element: float | None = None
    false_empties: float | None = None  # for each operation
    fairness: float | None = None  # the slowest thread by the fastest of its role
    steals: tuple[float, float] | None = None  # percent of pushes, share of attempts
    peak_kib: float | None = None
    by_round: dict[int, float] = field(default_factory=dict)  # mops_per_second


@dataclass
class CellSummary:
    """All queues of one cell, fastest first, those without a ratio last."""

    cell: Cell
    reference: str
    queues: list[QueueSummary]
    again: Estimate | None  # the reference's second run as ratio to its first
    rounds: int

    @property
    def latency_name(self) -> str:
        return "round trip" if self.cell.workload == "ping-pong" else "operation"


def merged_quantiles(histograms: list[list[list[float]]], seed: int
                     ) -> dict[str, Estimate | None]:
    """Quantiles of the sum of histograms, each a list of [ns, count] of one run; None where too few
    samples lie beyond."""
    found = quantile_estimates(histograms, list(QUANTILES.values()), seed)
    return {**dict(zip(QUANTILES, found)), "max": None}


def _latencies(results: list[dict], seed: int) -> dict[str, Estimate | None]:
    """The round trips where there are any, else pushes and pops together."""
    histograms = []
    longest = []
    for result in results:
        latency = result["latency"]
        kinds = [latency["round_trip"]] if latency["round_trip"] else [latency["push"],
                                                                      latency["pop"]]
        kinds = [kind for kind in kinds if kind]
        if kinds:
            histograms.append([bucket for kind in kinds for bucket in kind["histogram_ns_count"]])
            longest.append(max(kind["max_ns"] for kind in kinds))
    found = merged_quantiles(histograms, seed)
    found["max"] = estimate(longest, seed)
    return found


def _median(values: list) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _count(summary: QueueSummary, result: dict) -> None:
    """Takes over what an untimed run found."""
    obstacles = result["obstacles"] or {}
    summary.failed_exchanges = obstacles.get("failed_compare_exchanges_per_operation")
    summary.contended_locks = obstacles.get("contended_locks_per_operation")
    summary.bytes_per_element = result["memory"]["bytes_per_element"]


def _summary(queue: str, records: list[dict], base: dict[int, float], seed: int) -> QueueSummary:
    summary = QueueSummary(queue, runs=len(records),
                           failures=[r["failure"] for r in records if not r["ok"]])
    results = []
    for record in records:
        if not record["ok"]:
            continue
        if record["round"] == 0:
            _count(summary, record["result"])
            continue
        results.append(record["result"])
        summary.by_round[record["round"]] = record["result"]["mops_per_second"]
    paired = [rate / base[number] for number, rate in summary.by_round.items() if number in base]
    summary.ratio = ratio_estimate(paired, seed)
    summary.mops_per_second = estimate(list(summary.by_round.values()), seed)
    summary.latency_ns = _latencies(results, seed)
    false = [result["answers"]["false_empty"] for result in results]
    if false and None not in false:
        summary.false_empties = sum(false) / max(1, sum(r["operations"] for r in results))
    summary.fairness = _median([role["min_over_max"] for result in results
                                for role in result["fairness"].values() if role["threads"] > 1])
    summary.peak_kib = _median([result["memory"]["peak_above_start_kib"] for result in results])
    stolen = [result["steals"] for result in results if result["steals"]]
    if any(steals["attempts"] for steals in stolen):
        attempts = sum(steals["attempts"] for steals in stolen)
        summary.steals = (_median([steals["percent_of_pushes"] for steals in stolen]),
                          sum(steals["steals"] for steals in stolen) / attempts)
    return summary


def cannot_be_told_apart(one: QueueSummary, other: QueueSummary, again: Estimate | None,
                         seed: int) -> bool:
    """Whether the ratio of the two, paired by rounds, may be 1, or lies inside the band of what the
    reference differs from itself by."""
    ratios = [rate / other.by_round[number] for number, rate in one.by_round.items()
              if number in other.by_round]
    return not differ(ratio_estimate(ratios, seed), list(map(math.log, ratios)), Band.of(again))


def rank(queues: list[QueueSummary], again: Estimate | None, seed: int) -> None:
    """Fills in `rank`: a queue that cannot be told from the first of the rank above shares it. With
    too few rounds for an interval there are none."""
    leader: QueueSummary | None = None
    for place, queue in enumerate(queues, 1):
        if queue.ratio is None or queue.ratio.rounds < FEWEST_ROUNDS_FOR_95:
            continue
        if leader is None or not cannot_be_told_apart(leader, queue, again, seed):
            leader = queue
            queue.rank = place
        else:
            queue.rank = leader.rank


def summarize(rows: list[QueueRow], records: list[dict], seed: int = 0) -> list[CellSummary]:
    """A summary for each cell that has a record, in the order of the rows."""
    by_cell: dict[str, dict[str, list[dict]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        by_cell[record["cell"]][record["row"]].append(record)
    found = []
    for cell in dict.fromkeys(row.cell for row in rows):
        by_row = by_cell.get(cell.label)
        if not by_row:
            continue
        reference = reference_of(rows, cell)
        base = {record["round"]: record["result"]["mops_per_second"]
                for record in by_row.get(reference, []) if record["ok"] and record["round"]}
        queues = [_summary(queue, its, base, seed) for queue, its in by_row.items()]
        again = next((queue.ratio for queue in queues if queue.queue == reference + AGAIN), None)
        queues = sorted((queue for queue in queues if queue.queue != reference + AGAIN),
                        key=lambda queue: (-queue.ratio.median if queue.ratio else 0, queue.queue))
        rank(queues, again, seed)
        rounds = max((len(queue.by_round) for queue in queues), default=0)
        found.append(CellSummary(cell, reference, queues, again, rounds))
    return found
