"""All figures of a comparison, in the order of the report."""
from __future__ import annotations

import re
from collections.abc import Iterator

from driver.analysis import detail_tables, published
from driver.analysis.comparison import Comparison, Group
from driver.analysis.detail_tables import Latencies
from driver.analysis.figures import beside, costs, dots, latencies, matrices, style, sweeps
from driver.analysis.figures.style import Drawing
from driver.analysis.metrics import CPU, THROUGHPUT
from driver.analysis.limits import bracket_note
from driver.analysis.summary_tables import is_microbenchmark


def slug(text: str) -> str:
    """A text as part of a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def note_of(comparison: Comparison, rounds: int) -> str:
    """What every caption ends with: n, interval, host and commit."""
    results = comparison.results
    commits = [str(commit)[:12] for commit in results.facts("commit")] or ["unknown"]
    return (f"n = {rounds} rounds; {bracket_note(rounds).replace('brackets', 'intervals')}; "
            f"host {', '.join(results.hosts)}; commit {', '.join(commits)}.")


def without_details(comparison: Comparison) -> set[str]:
    """Groups of a sweep whose tails and costs are in tables only: all but the one with the most
    connections, or with the highest rate that the reference keeps up with."""
    found = set()
    for groups in sweeps.series(comparison, "connections"):
        found |= {group.name for group in groups[:-1]}
    for groups in sweeps.series(comparison, "rate_rps"):
        kept, _ = sweeps.before_knee(groups, groups[0].reference)
        shown = kept[-1] if kept else groups[0]
        found |= {group.name for group in groups if group is not shown}
    return found


def _of_group(comparison: Comparison, group: Group, histograms: Latencies, is_brief: bool
              ) -> Iterator[Drawing | None]:
    stem, note = slug(group.name), note_of(comparison, group.rounds)
    if is_microbenchmark(group):
        yield dots.ratios(group, "value", f"ratio-{stem}", note)
        yield dots.values(group, "value", f"value-{stem}", f"{group.metric.unit} (this machine)",
                          note)
        return
    counts = detail_tables.counts_of(comparison)
    order = (CPU, THROUGHPUT) if group.metric is CPU else (THROUGHPUT, CPU)
    for metric in order:
        yield dots.ratios(group, metric.name, f"{slug(metric.name)}-ratio-{stem}", note)
    if comparison.results.is_split:
        yield dots.values(group, THROUGHPUT.name, f"throughput-{stem}", "requests/s", note)
    yield from matrices.heat_maps(group, group.metric.name, stem, note)
    if is_brief:
        return
    yield from latencies.survivals(group, histograms, stem, note)
    yield costs.processor(group, stem, note)
    yield costs.switches(group, stem, note)
    yield costs.system_calls(group, counts, stem, note)
    yield costs.counters(group, counts, stem, note)


def draw_all(comparison: Comparison, histograms: Latencies) -> Iterator[tuple[str, Drawing]]:
    """Every figure that the data allow, under the heading that it belongs to."""
    style.use()
    for source in published.sources_for(comparison):
        if not source.think:
            rounds = max((group.rounds for group in published.groups_for(comparison, source)),
                         default=0)
            found = beside.published_beside(comparison, source, note_of(comparison, rounds))
            if found is not None:
                yield "Published beside measured", found
    for number, groups in enumerate(sweeps.series(comparison, "connections"), 1):
        note = note_of(comparison, min(group.rounds for group in groups))
        for found in sweeps.connections(comparison, groups, str(number), note):
            yield "Against connections", found
    for number, groups in enumerate(sweeps.series(comparison, "rate_rps"), 1):
        note = note_of(comparison, min(group.rounds for group in groups))
        for found in sweeps.load(groups, str(number), note):
            yield "Against offered load", found
    brief = without_details(comparison)
    for group in comparison.groups:
        for found in _of_group(comparison, group, histograms, group.name in brief):
            if found is not None:
                yield group.name, found
