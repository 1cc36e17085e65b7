"""All tables of a report, in its order."""
from __future__ import annotations

from driver.analysis import detail_tables, published, summary_tables
from driver.analysis.comparison import Comparison
from driver.analysis.detail_tables import Latencies
from driver.analysis.limits import VERDICT_NOTE
from driver.analysis.summary_tables import absolute_caption, is_microbenchmark
from driver.analysis.tables import Table


def _server_table(comparison: Comparison) -> Table | None:
    groups = [group for group in comparison.groups if not is_microbenchmark(group)]
    if not groups:
        return None
    found = [(f"{group.name} (ratios to {group.reference})",
              summary_tables.group_table(comparison, group)) for group in groups]
    return summary_tables.joined("comparison", "Servers beside their reference", found,
                                 f"{absolute_caption(comparison)} {VERDICT_NOTE}.")


def _micro_tables(comparison: Comparison) -> list[Table]:
    """One table for each unit, since values of different units share no column."""
    groups = [group for group in comparison.groups if is_microbenchmark(group)]
    found = []
    for number, unit in enumerate(dict.fromkeys(group.metric.unit for group in groups), 1):
        parts = [(f"{group.name} (ratios to {group.reference})",
                  summary_tables.group_table(comparison, group))
                 for group in groups if group.metric.unit == unit]
        found.append(summary_tables.joined(
            f"microbenchmarks-{number}", f"Microbenchmarks in {unit}", parts, f"{VERDICT_NOTE}."))
    return found


def published_tables(comparison: Comparison) -> list[Table]:
    """Published figures of the preset, lined up with ours where rows and loads agree."""
    found = []
    for source in published.sources_for(comparison):
        if source.think:
            continue  # its quantiles stand in the table of quantiles
        found.append(published.throughput_table(comparison, source) if source.workload
                     else published.plain_table(source))
    return found


def all_tables(comparison: Comparison, histograms: Latencies) -> list[tuple[str, Table]]:
    """Every table that the data allow, each under its heading."""
    servers = _server_table(comparison)
    quantiles = detail_tables.quantiles(comparison, histograms)
    found: list[tuple[str, Table | None]] = [("Verdicts", servers)]
    found += [("Verdicts", table) for table in _micro_tables(comparison)]
    found += [("Published beside measured", table) for table in published_tables(comparison)]
    found += [("Latency quantiles", quantiles),
              ("Cost of one request", detail_tables.costs(comparison)),
              ("Scheduler counters", detail_tables.counters(comparison)),
              ("What could not be measured", detail_tables.failures(comparison)),
              ("Quality of the run", detail_tables.quality(comparison)),
              ("Environment", detail_tables.environment(comparison))]
    return [(heading, table) for heading, table in found if table is not None]
