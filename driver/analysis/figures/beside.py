"""A published table beside ours: both as ratios to the same row, on one axis."""
from __future__ import annotations

from driver.analysis import published
from driver.analysis.comparison import Comparison
from driver.analysis.figures import style
from driver.analysis.figures.style import Drawing


def published_beside(comparison: Comparison, source: published.Source, note: str) -> Drawing | None:
    """Throughput of every published row that has a ratio; ours where we have one."""
    lines = [one for one in published.beside(comparison, source) if one.published_ratio]
    if not lines:
        return None
    drawn = style.figure(len(lines) * style.ROW_IN + 0.5)
    axes = drawn.add_subplot()
    values = []
    for y, one in enumerate(lines):
        axes.plot([one.published_ratio], [y], marker="D", color=style.COLOURS[1], linestyle="none",
                  markerfacecolor="white", label="published" if y == 0 else "_again")
        values.append(one.published_ratio)
    first = True
    for y, one in enumerate(lines):
        if one.our_ratio:
            axes.plot([one.our_ratio, one.published_ratio], [y, y], color=style.GRID, zorder=0)
            axes.plot([one.our_ratio], [y], marker="o", color=style.COLOURS[0], linestyle="none",
                      label="measured here" if first else "_again")
            values.append(one.our_ratio)
            first = False
    axes.set_yticks(range(len(lines)), [f"{one.name}{f' ({one.load})' if one.load else ''}"
                                        for one in lines])
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=style.GRID, linewidth=0.5)
    style.ratio_axis(axes, values)
    label = style.wide_label(drawn, f"requests/s: ratio to {source.reference} (log scale)")
    style.legend_below(drawn, axes, label=label)
    return Drawing(f"published-{source.stem}", f"Published beside measured: {source.stem}",
                   "Each side's ratio to its own run of the same row; published figures have no "
                   f"interval, ours are medians. {note}", drawn)
