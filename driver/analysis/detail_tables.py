"""Tables behind the comparison: quantiles, costs, counters, quality, environment, failures."""
from __future__ import annotations

import statistics

from driver.analysis import histograms, published
from driver.analysis.comparison import Comparison, Row
from driver.analysis.metrics import CPU
from driver.analysis.records import pin_of
from driver.analysis.summary_tables import (KIND, NAME, absolute_caption, failure_text, joined,
                                            kind_of)
from driver.analysis.tables import Column, Table, Value

SHARES = (0.5, 0.9, 0.99, 0.999, 0.9999)
QUANTILE_COLUMNS = (
    KIND, Column("framework", "framework", True), Column("mean", "latency_mean_ns"),
    Column("median", "latency_median_ns"), Column("q0.9", "latency_q0_9_ns"),
    Column("q0.99", "latency_q0_99_ns"), Column("q0.999", "latency_q0_999_ns"),
    Column("q0.9999", "latency_q0_9999_ns"))


def merged(comparison: Comparison, row: Row) -> list[histograms.Buckets]:
    """One histogram for each successful round of a row that has one."""
    found = []
    for record in row.good:
        histogram = comparison.results.histogram(record)
        if histogram is not None:
            found.append(histograms.buckets_of(histogram))
    return found


class Latencies:
    """The histograms of all rows, each read once."""

    def __init__(self, comparison: Comparison):
        self._comparison = comparison
        self._known: dict[str, list[histograms.Buckets]] = {}

    def of(self, row: Row) -> list[histograms.Buckets]:
        name = row.cell["cell"]
        if name not in self._known:
            self._known[name] = merged(self._comparison, row)
        return self._known[name]

    def sum_of(self, row: Row) -> list[tuple[float, int]]:
        return histograms.merge(self.of(row))


def quantiles(comparison: Comparison, latencies: Latencies) -> Table | None:
    """Latency in async-bench's columns, from merged histograms; published rows stand below."""
    tables = []
    for group in comparison.groups:
        rows: list[list[Value]] = []
        for row in group.rows:
            known = latencies.of(row)
            if known:
                found = histograms.quantile_estimates(known, SHARES, comparison.results.seed)
                middle = histograms.mean(latencies.sum_of(row))
                rows.append([kind_of(row), row.name, middle, *found])
        tables.append((group.name, Table("", "", QUANTILE_COLUMNS, rows)))
    for source in published.sources_for(comparison):
        if source.think:
            tables.append((f"published: {source.stem}",
                           Table("", "", QUANTILE_COLUMNS, published.latency_rows(source))))
    if not any(table.rows for _, table in tables):
        return None
    return joined("quantiles", "Latency quantiles in ns", tables,
                  "From histograms summed over rounds, never averaged, with 95 % bootstrap "
                  "intervals over rounds; left out where fewer than ten samples lie beyond.")


def counts_of(comparison: Comparison) -> dict[str, dict]:
    """The untimed counts by cell, of those that succeeded."""
    return {count["cell"]: count for directory in comparison.results.directories
            for count in directory.counts if count.get("ok")}


def per_request(row: Row, name: str) -> float | None:
    """The median over rounds of a server's total by the requests of its round."""
    known = [record["server"][name] / record["requests"] for record in row.good
             if record.get("requests") and (record.get("server") or {}).get(name) is not None]
    return statistics.median(known) if known else None


def user_and_system_us(row: Row) -> tuple[float, float] | None:
    """CPU us of one request in user and in kernel mode; together the median that tables give."""
    user, system = per_request(row, "user_cpu_s"), per_request(row, "system_cpu_s")
    one = row.metrics.get(CPU.name)
    if user is None or system is None or not one or not one.centre or user + system <= 0:
        return None
    total = one.centre.median
    return total * user / (user + system), total * system / (user + system)


def calls_of(count: dict | None) -> dict[str, float]:
    return (count or {}).get("system_calls_per_request") or {}


def costs(comparison: Comparison) -> Table | None:
    """What a request costs the server: processor time, switches, system calls by kind."""
    counts = counts_of(comparison)
    kinds = sorted({kind for count in counts.values() for kind, number in calls_of(count).items()
                    if number >= 0.01})
    columns = (NAME, Column("user us", "user_cpu_us_per_request"),
               Column("system us", "system_cpu_us_per_request"),
               Column("voluntary switches", "voluntary_switches_per_request"),
               Column("involuntary switches", "involuntary_switches_per_request"),
               Column("peak MiB", "peak_memory_mib"),
               *(Column(kind, f"{kind}_per_request") for kind in kinds))
    tables = []
    for group in comparison.groups:
        rows: list[list[Value]] = []
        for row in group.rows:
            cpu = user_and_system_us(row)
            if cpu is None:
                continue
            peak = row.median("server", "peak_memory_bytes")
            calls = calls_of(counts.get(row.cell["cell"]))
            rows.append([row.name, *cpu, per_request(row, "voluntary_switches"),
                         per_request(row, "involuntary_switches"),
                         peak / 2**20 if peak else None, *(calls.get(kind) for kind in kinds)])
        tables.append((group.name, Table("", "", columns, rows)))
    if not any(table.rows for _, table in tables):
        return None
    how = "system calls from separate, untimed rounds" if kinds else "system calls: not counted"
    return joined("costs", "Cost of one request", tables, f"Medians over rounds; {how}.")


def counters(comparison: Comparison) -> Table | None:
    """Scheduler counters per request, from the untimed rounds."""
    counts = counts_of(comparison)
    names = sorted({name for count in counts.values()
                    for name in count.get("counters_per_request") or {}})
    columns = (NAME, *(Column(name.replace("_", " "), f"{name}_per_request") for name in names))
    tables = []
    for group in comparison.groups:
        rows = [[row.name, *(found.get(name) for name in names)] for row in group.rows
                if (found := (counts.get(row.cell["cell"]) or {}).get("counters_per_request"))]
        tables.append((group.name, Table("", "", columns, rows)))
    if not any(table.rows for _, table in tables):
        return None
    return joined("counters", "Scheduler counters per request", tables,
                  "From separate, untimed rounds with --stats.")


def quality(comparison: Comparison) -> Table:
    """How good the rounds were: noise, failures, flags and checks, a line a group."""
    rows: list[list[Value]] = []
    for group in comparison.groups:
        everyone = [*group.rows, *([group.again] if group.again else [])]
        records = [record for row in everyone for record in row.records]
        one = [row.metrics[group.metric.name] for row in everyone]
        bad = sorted({f"{name}: {state}" for record in records
                      for name, state in (record.get("checks") or {}).items() if state != "pass"})

        def worst(name: str) -> float | None:
            return max((record["noise"][name] for record in records
                        if name in (record.get("noise") or {})), default=None)
        band = group.band(group.metric.name)
        rows.append([group.name, group.rounds, len(records), sum(not r["ok"] for r in records),
                     sum(r["verdict"] == "noisy" for r in records),
                     sum(point.is_outlier for each in one for point in each.points),
                     worst("steal_percent"), worst("foreign_cpu_percent"),
                     worst("cpu_pressure_percent"),
                     f"{band.low:.3f} to {band.high:.3f}" if band else "none", "; ".join(bad)])
    columns = (Column("group", "group", True), Column("rounds", "rounds"),
               Column("records", "records"), Column("failed", "failed"), Column("noisy", "noisy"),
               Column("outliers", "outliers"), Column("worst steal %", "worst_steal_percent"),
               Column("worst foreign CPU %", "worst_foreign_cpu_percent"),
               Column("worst pressure %", "worst_cpu_pressure_percent"),
               Column("A/A' band", "band", True), Column("checks not passed", "checks", True, True))
    return Table("quality", "Quality of the run", columns, rows,
                 "Noisy: stolen or foreign processor time above the campaign's limit; such rounds "
                 "are repeated and both are kept. Outliers are flagged, never dropped.")


def failures(comparison: Comparison) -> Table | None:
    """What could not be measured, and why: planned rows that never ran, then cells that failed."""
    rows: list[list[Value]] = []
    for directory in comparison.results.directories:
        rows += [[entry["row"], entry["group"], f"unavailable: {entry['reason']}"]
                 for entry in directory.plan.get("unavailable", [])]
    rows = [row for at, row in enumerate(rows) if row not in rows[:at]]
    rows += [[row.name, group.name, failure_text(row)] for group, row in comparison.rows()
             if row.failures]
    rows += [[count["row"], count["group"], f"not counted: {count['failure']}"]
             for directory in comparison.results.directories for count in directory.counts
             if not count.get("ok")]
    columns = (NAME, Column("group", "group", True), Column("why", "why", True, True))
    return Table("failures", "What could not be measured", columns, rows,
                 "Kept here until it runs.") if rows else None


def environment(comparison: Comparison) -> Table:
    """Every fact of every directory, one column a directory."""
    directories = comparison.results.directories
    facts = list(dict.fromkeys(key for directory in directories for key in directory.environment))
    rows: list[list[Value]] = [["pinning", *(pin_of(directory) for directory in directories)]]
    rows += [[name, *(_fact(directory.environment.get(name)) for directory in directories)]
             for name in facts if name not in ("schema", "pin")]
    columns = (Column("what", "what", True), *(
        Column(str(directory.environment.get("host") or f"directory {number}"), f"value_{number}",
               True, True) for number, directory in enumerate(directories, 1)))
    return Table("environment", "Environment", columns, rows, absolute_caption(comparison))


def _fact(value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_fact(one)}" for key, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
