"""The complementary distribution of latencies, on log-log axes, so that the tail is seen."""
from __future__ import annotations

from collections.abc import Sequence

from matplotlib.ticker import LogLocator

from driver.analysis.comparison import Group, Row
from driver.analysis.detail_tables import Latencies
from driver.analysis.figures import style
from driver.analysis.figures.dots import sections_of
from driver.analysis.figures.style import Drawing
from driver.analysis.histograms import survival
from driver.analysis.records import REFERENCE

MOST_POINTS = 400  # of one line; more would not be seen


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Evenly many points in each part of the tail."""
    kept: list[tuple[float, float]] = []
    for value, share in points:
        if not kept or value > kept[-1][0] * 1.01 or share < kept[-1][1] * 0.95:
            kept.append((value, share))
    step = max(1, len(kept) // MOST_POINTS)
    return kept[::step]


def survivals(group: Group, latencies: Latencies, stem: str, note: str) -> list[Drawing]:
    """Share of requests slower than a latency, a figure a section, the reference in each."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in group.rows:
        points = _thinned(survival(latencies.sum_of(row)))
        if points:
            lines[row.cell["cell"]] = points
    reference = next((row for row in group.rows if row.cell["reference"] == REFERENCE), None)
    found = []
    others = [row for row in group.rows if row is not reference]
    for section, members in sections_of(others).items():
        drawn_rows = sorted((row for row in members if row.cell["cell"] in lines),
                            key=lambda row: row.name)
        if drawn_rows:
            found.append(_figure(group, section, drawn_rows, reference, lines, stem, note))
    return found


def _figure(group: Group, section: str, rows: list[Row], reference: Row | None,
            lines: dict[str, list[tuple[float, float]]], stem: str, note: str) -> Drawing:
    shown = [(row, row.short_name, style.mark_of(number % 6)) for number, row in enumerate(rows)]
    if reference is not None and reference.cell["cell"] in lines:
        shown.append((reference, f"{reference.name} (reference)",
                      {"color": "black", "linestyle": "-", "marker": "."}))
    drawn = style.figure(2.2)
    axes = drawn.add_subplot()
    for row, label, look in shown:
        points = lines[row.cell["cell"]]
        axes.plot([value / 1000 for value, _ in points], [share for _, share in points],
                  label=label, markevery=0.15, markersize=3, linewidth=0.9,
                  color=look["color"], linestyle=look["linestyle"], marker=look["marker"])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(10, numticks=8))
    axes.set_ylim(top=1.2)
    axes.set_xlabel("latency, us (log scale)")
    axes.set_ylabel("share of requests slower (log)")
    axes.grid(color=style.GRID, linewidth=0.5)
    style.legend_below(drawn, axes)
    return Drawing(f"ccdf-{stem}-{section}", f"Latency tail: {group.name}, {section}",
                   "Complementary distribution of the summed histograms of all rounds; a line ends "
                   f"where fewer than ten samples are slower. {note}", drawn)
