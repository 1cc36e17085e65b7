"""The tables of a comparison: ratios and verdicts, and what failed."""
from __future__ import annotations

from collections import Counter

from driver.analysis.comparison import Comparison, Group, Row
from driver.analysis.estimates import Estimate
from driver.analysis.metrics import CPU, THROUGHPUT
from driver.analysis.numbers import centre, with_interval
from driver.analysis.records import REFERENCE
from driver.analysis.tables import Column, Table, Value
from driver.environment import SHARED_CORES

NAME = Column("row", "row", is_text=True)
KIND = Column("kind", "kind", is_text=True)
REMARKS = Column("remarks", "remarks", is_text=True, wraps=True)
TAIL = (Column("verdict", "verdict", is_text=True), Column("rank", "rank"))
ROUNDS = Column("rounds", "rounds")


def kind_of(row: Row) -> str:
    """`shared` or `prefork` where a peer says so, else what kind of row it is."""
    return row.cell.get("sharing") or row.cell["kind"]


def failure_text(row: Row) -> str:
    """How many attempts failed and why, the most frequent reason first; empty when none did."""
    failures = Counter(row.failures)
    if not failures:
        return ""
    reasons = "; ".join(f"{reason} ({count}x)" if count > 1 else reason
                        for reason, count in failures.most_common(3))
    return f"{failures.total()} of {len(row.records)} attempts failed: {reasons}"


def remarks(group: Group, row: Row) -> str:
    """What must not be overlooked in a row."""
    parts = [failure_text(row)] if row.failures else []
    if not row.records:
        parts.append("not measured yet")
    parts += row.labels
    one = row.metrics[group.metric.name]
    flagged = sum(point.is_outlier for point in one.points)
    noisy = sum(point.is_noisy for point in one.points)
    if flagged:
        parts.append(f"{flagged} outlier(s), kept")
    if noisy:
        parts.append(f"{noisy} noisy round(s)")
    errors = Counter()
    for record in row.good:
        errors.update(record.get("errors") or {})
    if errors.total():
        parts.append(", ".join(f"{count} {kind} errors" for kind, count in errors.items() if count))
    parts += dict.fromkeys(note for record in row.records for note in record.get("notes") or [])
    return "; ".join(parts)


def is_microbenchmark(group: Group) -> bool:
    return group.metric.name == "value"


def verdict_of(group: Group, row: Row) -> str:
    """The verdict on what the group is judged by; of the reference that it is the reference."""
    if row.cell["reference"] == REFERENCE:
        return "reference"
    return row.metrics[group.metric.name].verdict if row.good else "failed"


def _row(group: Group, row: Row) -> list[Value]:
    cpu, throughput = row.metrics[CPU.name], row.metrics[THROUGHPUT.name]
    one = row.metrics[group.metric.name]
    return [row.name, kind_of(row), throughput.ratio, cpu.ratio, verdict_of(group, row),
            row.rank or None, cpu.centre and cpu.centre.median,
            _absolute(throughput.centre), len(one.points), remarks(group, row)]


def _absolute(estimate: Estimate | None) -> Value:
    return None if estimate is None else centre(estimate)


def server_columns(is_split: bool) -> tuple[Column, ...]:
    """Of a table of servers; absolute throughput is marked where it is only this machine's."""
    where = "" if is_split else " (this machine)"
    return (NAME, KIND, Column("requests/s ratio", "throughput_ratio"),
            Column("CPU/request ratio", "cpu_ratio"), *TAIL,
            Column("CPU us/request", "cpu_us_per_request"),
            Column(f"requests/s{where}", "throughput_rps"), ROUNDS, REMARKS)


def micro_columns(unit: str) -> tuple[Column, ...]:
    return (NAME, KIND, Column("ratio", "ratio"), *TAIL, Column(unit or "value", "value"), ROUNDS,
            REMARKS)


def group_table(comparison: Comparison, group: Group) -> Table:
    """One group alone, as the terminal shows it."""
    if is_microbenchmark(group):
        rows = [[row.name, kind_of(row), row.metrics["value"].ratio, verdict_of(group, row),
                 row.rank or None, row.metrics["value"].centre,
                 len(row.metrics["value"].points), remarks(group, row)] for row in group.rows]
        return Table(group.name, group.name, micro_columns(group.metric.unit), rows)
    columns = server_columns(comparison.results.is_split)
    return Table(group.name, group.name, columns, [_row(group, row) for row in group.rows])


def joined(name: str, title: str, tables: list[tuple[str, Table]], caption: str) -> Table:
    """Tables of the same columns under one head, each below its own heading."""
    rows: list[list[Value]] = []
    headings = {}
    for heading, table in tables:
        if table.rows:
            headings[len(rows)] = heading
            rows += table.rows
    return Table(name, title, tables[0][1].columns, rows, caption, headings)


def noise_line(group: Group) -> str:
    """What the reference shows against itself in this group."""
    if group.again is None:
        return "A/A': not measured, so differences cannot be told from noise"
    parts = []
    for name in ("throughput_rps", "cpu_us_per_request", "value"):
        one = group.again.metrics.get(name)
        if one is not None:
            band = group.band(name)
            parts.append(f"{one.metric.title} {with_interval(one.ratio)}"
                         + (f", band {band.low:.3f} to {band.high:.3f}" if band else ", no band"))
    return f"A/A' ({group.reference} against itself): {'; '.join(parts)}"


def absolute_caption(comparison: Comparison) -> str:
    """How to read absolute figures, which only cores of their own make comparable."""
    if comparison.results.is_split:
        return "Servers and generator had cores of their own."
    return (f"{SHARED_CORES[0].upper()}{SHARED_CORES[1:]}; requests/s hold on this machine, in "
            "this run, only.")
