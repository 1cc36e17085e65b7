"""Two results of one plan beside each other: what became slower from A to B."""
from __future__ import annotations

import math
import re
from dataclasses import dataclass

from driver.analysis.comparison import Comparison, Group, Point, Row
from driver.analysis.estimates import Estimate, clustered_estimate, hodges_lehmann
from driver.analysis.metrics import Metric
from driver.analysis.numbers import with_interval
from driver.analysis.tables import Column, Table, Value, text
from driver.console import Problem, UsageProblem

FAIL_ON = re.compile(r"regress\s*>\s*(\d+(?:\.\d+)?)\s*%")
ALLOWED = "--fail-on must be regress>N% with N from 0 to 100, such as 'regress>3%'"


def parse_fail_on(expression: str) -> float:
    """The share above which a regression fails, such as 0.03; UsageProblem for anything else."""
    match = FAIL_ON.fullmatch(expression.strip())
    if not match or float(match.group(1)) > 100:
        raise UsageProblem(f"{ALLOWED}, not '{expression}'")
    return float(match.group(1)) / 100


@dataclass(frozen=True)
class Change:
    """One row of one group: B's ratio to its reference by A's. `loss` is how much worse, as a
    share, and negative where B is better; `regressed` when the whole interval lies beyond the
    limit."""

    group: str
    row: str
    metric: Metric
    change: Estimate | None
    loss: float
    regressed: bool
    reason: str = ""


def _logarithms(points: list[Point]) -> list[float]:
    return [math.log(point.ratio) for point in points if point.ratio]


def _change(before: list[float], after: list[float], seed: int) -> Estimate | None:
    """Two independent runs: the difference of centres, its interval from both intervals."""
    old = clustered_estimate([before], seed, hodges_lehmann)
    new = clustered_estimate([after], seed + 1, hodges_lehmann)
    if old is None or new is None:
        return None
    middle = new.median - old.median
    down = math.hypot(new.median - new.low, old.high - old.median)
    up = math.hypot(new.high - new.median, old.median - old.low)
    return Estimate(math.exp(middle), math.exp(middle - down), math.exp(middle + up),
                    min(old.rounds, new.rounds))


def _widened(change: Estimate, before: Group, after: Group, metric: str) -> Estimate:
    """The interval, no narrower than what either reference differs from itself by."""
    for band in (before.band(metric), after.band(metric)):
        if band is not None:
            change = Estimate(change.median, min(change.low, change.median * band.low),
                              max(change.high, change.median * band.high), change.rounds)
    return change


def _row(old: Group, new: Group, before: Row, after: Row | None, limit: float, seed: int) -> Change:
    metric = old.metric
    if after is None or (before.good and not after.good):
        why = "is missing in B" if after is None else f"fails in B: {after.failures[0]}" \
            if after.failures else "was not measured in B"
        return Change(old.name, before.name, metric, None, 0, True, why)
    one, other = before.metrics[metric.name], after.metrics.get(metric.name)
    change = _change(_logarithms(one.points), _logarithms(other.points) if other else [], seed)
    if change is None:
        return Change(old.name, before.name, metric, None, 0, False, "not measured in both")
    if old.band(metric.name) is None or new.band(metric.name) is None:
        return Change(old.name, before.name, metric, change, _loss(change.median, metric), False,
                      "inconclusive: too few rounds")
    change = _widened(change, old, new, metric.name)
    best = change.high if metric.better > 0 else change.low
    regressed = _loss(best, metric) > limit
    return Change(old.name, before.name, metric, change, _loss(change.median, metric), regressed)


def _loss(ratio: float, metric: Metric) -> float:
    """How much worse, as a share: a throughput of 0.95 and a cost of 1.05 are both 0.05."""
    return 1 - ratio if metric.better > 0 else ratio - 1


def changes(before: Comparison, after: Comparison, limit: float) -> list[Change]:
    """All rows of A that have a reference, in A's order. Problem when no group is in both."""
    found = []
    groups = {group.name: group for group in after.groups}
    common = [group for group in before.groups if group.name in groups]
    if not common:
        raise Problem(f"no group of A is in B; A has {before.groups[0].name}, "
                      f"B has {after.groups[0].name}")
    for old in common:
        new = groups[old.name]
        if old.reference != new.reference:
            raise Problem(f"{old.name}: the reference is {old.reference} in A and {new.reference} "
                          "in B")
        rows = {row.name: row for row in new.rows}
        found += [_row(old, new, row, rows.get(row.name), limit, before.results.seed)
                  for row in old.rows if row.name != old.reference]
    return found


def _verdict(change: Change) -> str:
    if change.change is None or change.reason:
        return "regressed" if change.regressed else change.reason
    if change.regressed:
        return "regressed"
    low, high = change.change.low, change.change.high
    if low <= 1 <= high:
        return "no difference found"
    return "worse, within the limit" if change.loss > 0 else "better"


def render(found: list[Change], limit: float) -> str:
    """The table, then what was found in a line."""
    rows: list[list[Value]] = [
        [one.row, one.group, one.metric.title, one.change and with_interval(one.change),
         _verdict(one), one.reason if one.regressed else ""] for one in found]
    columns = (Column("row", "row", True), Column("group", "group", True),
               Column("judged by", "metric", True), Column("B / A", "change", True),
               Column("verdict", "verdict", True), Column("remarks", "remarks", True))
    worse = sum(one.regressed for one in found)
    return "\n".join([
        text(Table("compare", "", columns, rows)), "",
        "B / A: ratio to the reference in B by that in A; its interval holds both runs' intervals "
        "and A/A' bands",
        f"{worse} of {len(found)} rows regressed by more than {100 * limit:g} %"])
