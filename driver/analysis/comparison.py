"""From records to a comparison: in each group every row beside the reference, round by round."""
from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field

from driver.analysis.estimates import (Estimate, clustered_estimate, clustered_ratio, holm,
                                       outliers)
from driver.analysis.metrics import Metric, metrics_of
from driver.analysis.records import REFERENCE, REFERENCE_AGAIN, Results
from driver.analysis.verdicts import INCONCLUSIVE, Band, differ, p_value, verdict

GENERATOR_BOUND = 0.9  # share of the null responder's ceiling above which a cell says little
NULL_RESPONDERS = ("null", "null-responder")  # rows that answer and do nothing else


@dataclass(frozen=True)
class Point:
    """One round of one row. `cluster` is host and build; `key` names the round among all."""

    cluster: Hashable
    key: Hashable
    value: float
    ratio: float | None = None
    is_noisy: bool = False
    is_outlier: bool = False


@dataclass
class Compared:
    """One metric of one row: its rounds, its centre and its ratio to the reference."""

    metric: Metric
    points: list[Point]
    centre: Estimate | None = None
    ratio: Estimate | None = None
    p: float = 1.0
    adjusted_p: float = 1.0
    verdict: str = INCONCLUSIVE

    def logarithms(self) -> list[float]:
        return [math.log(point.ratio) for point in self.points if point.ratio]


@dataclass
class Row:
    """One cell of the plan: a row under the load of its group. `cell` has the static fields."""

    cell: dict
    records: list[dict]
    metrics: dict[str, Compared] = field(default_factory=dict)
    rank: int = 0
    labels: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.cell["row"]

    @property
    def short_name(self) -> str:
        """The row's name without what its poller, scheduler and workload say already."""
        queue, parts = self.cell.get("queue"), [self.cell.get("poller"), self.cell.get("scheduler")]
        joined = "-".join(part for part in (*parts, queue) if part)
        if queue and joined in self.name:
            return queue + self.name.split(joined, 1)[1]
        return self.name

    @property
    def section(self) -> str:
        """Poller and scheduler of a combination, else what else it is: rows are drawn by these."""
        if self.cell["kind"] == "combination":
            parts = (self.cell.get("poller"), self.cell.get("scheduler"))
            return ", ".join(part for part in parts if part) or "combinations"
        kinds = {"peer": "peers", "named": "named binaries", "queue": "queues", "fiber": "fibers"}
        return ", ".join(part for part in (kinds[self.cell["kind"]], self.cell.get("sharing"))
                         if part)

    @property
    def good(self) -> list[dict]:
        return [record for record in self.records if record["ok"]]

    @property
    def failures(self) -> list[str]:
        return [record["failure"] for record in self.records if not record["ok"]]

    def median(self, part: str, name: str) -> float | None:
        """Of the rounds that have this number."""
        known = [value for record in self.good
                 if isinstance(value := (record.get(part) or {}).get(name), (int, float))]
        return statistics.median(known) if known else None


@dataclass
class Group:
    """Rows under one load. `rows` starts with the best; those without a ratio come last."""

    name: str
    parameters: dict
    metric: Metric
    reference: str
    rows: list[Row]
    again: Row | None
    bands: dict[str, Band | None]

    @property
    def rounds(self) -> int:
        return max((len(row.metrics[self.metric.name].points) for row in self.rows), default=0)

    def band(self, metric: str) -> Band | None:
        return self.bands.get(metric)


@dataclass
class Comparison:
    """All groups of the results, in the order of the plan."""

    results: Results
    groups: list[Group]

    def rows(self) -> list[tuple[Group, Row]]:
        return [(group, row) for group in self.groups for row in group.rows]


def _round_key(record: dict) -> tuple:
    """The round that a record counts for: of a noisy one that was repeated, the first."""
    repeats = record.get("repeats")
    return (record["_directory"], record["host"], record["build"], record["block"],
            record["round"] if repeats is None else repeats)


def _runs(records: list[dict]) -> dict[tuple, dict[int, dict]]:
    """Of each round its runs, the repeats of a noisy one included: in each the last attempt that
    succeeded."""
    found: dict[tuple, dict[int, dict]] = defaultdict(dict)
    for record in sorted(records, key=lambda record: record["attempt"]):
        if record["ok"]:
            found[_round_key(record)][record["round"]] = record
    return found


def _chosen(runs: dict[int, dict], base: dict[int, dict]) -> tuple[dict, dict | None]:
    """Of one round the first run that was quiet for both row and reference, else the last that both
    have. Noise decides, never the figures."""
    both = [number for number in sorted(runs) if number in base]
    for number in both:
        if runs[number]["verdict"] == base[number]["verdict"] == "good":
            return runs[number], base[number]
    if both:
        return runs[both[-1]], base[both[-1]]
    return runs[max(runs)], None


def _points(metric: Metric, records: list[dict], base: dict[tuple, dict[int, dict]]
            ) -> list[Point]:
    found = []
    for key, runs in sorted(_runs(records).items()):
        record, other = _chosen(runs, base.get(key, {}))
        value = metric.value(record)
        if value is None:
            continue
        beside = metric.value(other) if other is not None else None
        noisy = "noisy" in (record["verdict"], other["verdict"] if other else "")
        found.append(Point(key[:3], key, value, value / beside if beside else None, noisy))
    flags = outliers([math.log(point.ratio or point.value) for point in found])
    return [Point(p.cluster, p.key, p.value, p.ratio, p.is_noisy, flag)
            for p, flag in zip(found, flags)]


def _clusters(points: list[Point], of) -> list[list[float]]:
    by_cluster: dict[Hashable, list[float]] = defaultdict(list)
    for point in points:
        value = of(point)
        if value is not None:
            by_cluster[point.cluster].append(value)
    return list(by_cluster.values())


def compared(metric: Metric, records: list[dict], base: dict[tuple, dict[int, dict]], seed: int
             ) -> Compared:
    """Centre, ratio and p-value of one metric; `base` are the reference's records by round."""
    found = Compared(metric, _points(metric, records, base))
    found.centre = clustered_estimate(_clusters(found.points, lambda p: p.value), seed)
    found.ratio = clustered_ratio(_clusters(found.points, lambda p: p.ratio), seed)
    found.p = p_value(found.logarithms())
    return found


def _paired(one: Row, other: Row, metric: str) -> list[Point]:
    """The rounds of `other` as ratios to those of `one`."""
    base = {point.key: point.value for point in one.metrics[metric].points}
    return [Point(p.cluster, p.key, p.value, p.value / base[p.key])
            for p in other.metrics[metric].points if p.key in base]


def told_apart(one: Row, other: Row, metric: str, band: Band | None, comparisons: int, seed: int
               ) -> bool:
    """Whether two rows of a group differ, among so many comparisons."""
    points = _paired(one, other, metric)
    ratio = clustered_ratio(_clusters(points, lambda p: p.ratio), seed)
    return differ(ratio, [math.log(p.ratio) for p in points if p.ratio], band, comparisons)


def _rank(group: Group, seed: int) -> None:
    """A row that cannot be told from the first of the rank above shares it; without a band, or with
    too few rounds for one, there are none."""
    band = group.band(group.metric.name)
    leader: Row | None = None
    for place, row in enumerate(group.rows, 1):
        if band is None or row.metrics[group.metric.name].ratio is None:
            continue
        if leader is None or told_apart(leader, row, group.metric.name, band,
                                        max(1, len(group.rows) - 1), seed):
            leader = row
            row.rank = place
        else:
            row.rank = leader.rank


def _order(row: Row, metric: Metric) -> tuple:
    ratio = row.metrics[metric.name].ratio
    return (0, -metric.better * math.log(ratio.median), row.name) if ratio else (1, 0, row.name)


def _group(name: str, cells: list[dict], by_cell: dict[str, list[dict]], seed: int) -> Group:
    rows = [Row(cell, by_cell.get(cell["cell"], [])) for cell in cells]
    sample = next((record for row in rows for record in row.records), cells[0])
    metrics = metrics_of(sample)
    base_row = next((row for row in rows if row.cell["reference"] == REFERENCE), None)
    base = _runs(base_row.records) if base_row else {}
    for row in rows:
        for metric in metrics:
            row.metrics[metric.name] = compared(metric, row.records, base, seed)
    again = next((row for row in rows if row.cell["reference"] == REFERENCE_AGAIN), None)
    bands = {metric.name: Band.of(again.metrics[metric.name].ratio if again else None)
             for metric in metrics}
    shown = sorted((row for row in rows if row is not again), key=lambda r: _order(r, metrics[0]))
    return Group(name, cells[0]["parameters"], metrics[0],
                 base_row.name if base_row else "none", shown, again, bands)


def _judge(groups: list[Group]) -> None:
    """Verdicts of every metric, Holm's adjustment over all of its cells."""
    by_metric: dict[str, list[tuple[Group, Compared]]] = defaultdict(list)
    for group in groups:
        for row in group.rows:
            if row.cell["reference"] == REFERENCE:
                continue
            for name, one in row.metrics.items():
                if one.ratio is not None:
                    by_metric[name].append((group, one))
    for name, found in by_metric.items():
        for (group, one), p in zip(found, holm([one.p for _, one in found])):
            one.adjusted_p = p
            one.verdict = verdict(one.ratio, p, group.band(name), one.metric.better)


def _load_of(parameters: dict) -> tuple:
    return tuple(parameters.get(name) for name in ("connections", "threads", "mode", "think_us",
                                                   "rate_rps", "payload_bytes", "pipeline"))


def _label(groups: list[Group]) -> None:
    """Marks what the generator rather than the server has decided."""
    ceilings: dict[tuple, float] = {}
    for group in groups:
        for row in group.rows:
            one = row.metrics.get("throughput_rps")
            if row.name in NULL_RESPONDERS and one and one.centre:
                ceilings[_load_of(row.cell["parameters"])] = one.centre.median
    for group in groups:
        for row in group.rows:
            one = row.metrics.get("throughput_rps")
            ceiling = ceilings.get(_load_of(row.cell["parameters"]))
            if (one and one.centre and ceiling and row.name not in NULL_RESPONDERS
                    and one.centre.median > GENERATOR_BOUND * ceiling):
                row.labels.append("generator-bound")
            checks = Counter(name for record in row.good
                             for name, state in (record.get("checks") or {}).items()
                             if state != "pass")
            if checks:
                row.labels.append("check: " + ", ".join(
                    f"{name} in {count} of {len(row.good)}"
                    for name, count in sorted(checks.items())))


def compare(results: Results) -> Comparison:
    """The whole comparison; the same data give the same figures."""
    by_group: dict[str, list[dict]] = defaultdict(list)
    for cell in results.cells():
        by_group[cell["group"]].append(cell)
    by_cell: dict[str, list[dict]] = defaultdict(list)
    for record in results.records:
        by_cell[record["cell"]].append(record)
    groups = [_group(name, cells, by_cell, results.seed) for name, cells in by_group.items()]
    _judge(groups)
    for group in groups:
        _rank(group, results.seed)
    _label(groups)
    return Comparison(results, groups)
