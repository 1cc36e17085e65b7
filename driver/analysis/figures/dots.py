"""Rows below each other, with every round as a faint point and the interval on top."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes

from driver.analysis.comparison import Band, Compared, Estimate, Group, Row
from driver.analysis.figures import style
from driver.analysis.figures.style import Drawing


RAW_BELOW = 0.3  # of a row: where single rounds are drawn, so that the interval hides none


def sections_of(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by their section, in the order in which each first occurs."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.section, []).append(row)
    return found


def lay_out(axes: Axes, rows: Sequence[Row]) -> list[tuple[float, int, Row]]:
    """Names along the left, below the name of their section; gives height, section and row."""
    places: list[tuple[float, int, Row]] = []
    ticks, labels, heads = [], [], []
    y = 0.0
    sections = sections_of(rows)
    for number, (section, members) in enumerate(sections.items()):
        if len(sections) > 1:
            ticks.append(y)
            labels.append(section)
            heads.append(len(ticks) - 1)
            y += 1
        for row in members:
            ticks.append(y)
            labels.append(row.short_name)
            places.append((y, number, row))
            y += 1
        y += 0.3
    axes.set_yticks(ticks, labels)
    axes.set_ylim(y - 0.6, -0.7)
    axes.tick_params(axis="y", length=0)
    for head in heads:
        axes.get_yticklabels()[head].set_weight("bold")
    axes.grid(axis="x", color=style.GRID, linewidth=0.5)
    return places


def height_of(rows: Sequence[Row]) -> float:
    """Inches that the rows take with their sections."""
    sections = len(sections_of(rows))
    lines = len(rows) + (sections * 1.3 if sections > 1 else 0)
    return lines * style.ROW_IN


def _raw(axes: Axes, y: float, one: Compared, of: Callable) -> list[float]:
    values = [(value, point) for point in one.points if (value := of(point)) is not None]
    for kind, chosen in (("quiet", [v for v, p in values if not p.is_noisy and not p.is_outlier]),
                         ("noisy", [v for v, p in values if p.is_noisy]),
                         ("outlier", [v for v, p in values if p.is_outlier and not p.is_noisy])):
        shape = {"quiet": {"marker": "|", "s": 14, "linewidths": 0.5},
                 "noisy": {"marker": "o", "s": 7, "facecolors": "none", "linewidths": 0.5},
                 "outlier": {"marker": "x", "s": 9, "linewidths": 0.6}}[kind]
        colour = {"edgecolors": style.POINT} if kind == "noisy" else {"color": style.POINT}
        axes.scatter(chosen, [y + RAW_BELOW] * len(chosen), zorder=2, **shape, **colour)
    return [value for value, _ in values]


def _estimate(axes: Axes, y: float, found: Estimate, look: dict) -> None:
    axes.plot([found.low, found.high], [y, y], color=look["color"], linewidth=1.3, zorder=3,
              solid_capstyle="butt")
    axes.plot([found.median], [y], color=look["color"], marker=look["marker"], markersize=3.8,
              zorder=4, markeredgecolor="white", markeredgewidth=0.4)


def draw(axes: Axes, rows: Sequence[Row], metric: str,
         centre: Callable[[Compared], Estimate | None], of: Callable) -> list[float]:
    """Every row that has the metric; returns all values drawn, for the axis."""
    drawn: list[float] = []
    for y, section, row in lay_out(axes, rows):
        one = row.metrics.get(metric)
        found = centre(one) if one else None
        if found is None:
            axes.annotate("no figures: see failures", (0.02, y), fontsize=5.5, color=style.POINT,
                          xycoords=("axes fraction", "data"), va="center")
            continue
        drawn += _raw(axes, y, one, of)
        _estimate(axes, y, found, style.mark_of(section))
        drawn += [found.low, found.high]
    return drawn


def band(axes: Axes, between: Band | None) -> None:
    if between is not None:
        axes.axvspan(between.low, between.high, color=style.BAND, zorder=0, linewidth=0)


RAW_NOTE = ("Bars: single rounds (rings: noisy rounds, crosses: outliers, both kept); marks and "
            "lines: estimate and 95 % interval")


def ratios(group: Group, metric: str, name: str, note: str) -> Drawing | None:
    """Paired ratios of one metric to the reference, on a log axis, with the A/A' band in grey."""
    if not any(row.metrics.get(metric) and row.metrics[metric].ratio for row in group.rows):
        return None
    kind = next(row.metrics[metric].metric for row in group.rows if metric in row.metrics)
    rows = in_order(group.rows)
    drawn = style.figure(height_of(rows) + 0.62)
    axes = drawn.add_subplot()
    values = draw(axes, rows, metric, lambda one: one.ratio, lambda point: point.ratio)
    between = group.band(metric)
    band(axes, between)
    style.ratio_axis(axes, values + ([between.low, between.high] if between else []))
    better = "more" if kind.better > 0 else "less"
    style.wide_label(drawn, f"{kind.title}: ratio to {group.reference}\n"
                     f"(log scale; {better} is better)")
    grey = "grey: band of A/A'" if between else "no A/A' band: too few rounds"
    return Drawing(name, f"{kind.title[0].upper()}{kind.title[1:]}, ratio: {group.name}",
                   f"{RAW_NOTE}; {grey}. {note}", drawn)


def values(group: Group, metric: str, name: str, label: str, note: str) -> Drawing | None:
    """One metric in absolute figures, from zero."""
    rows = [row for row in in_order(group.rows)
            if row.metrics.get(metric) and row.metrics[metric].centre]
    if not rows:
        return None
    drawn = style.figure(height_of(rows) + 0.55)
    axes = drawn.add_subplot()
    found = draw(axes, rows, metric, lambda one: one.centre, lambda point: point.value)
    style.value_axis(axes, found)
    style.wide_label(drawn, label)
    title = f"{label[0].upper()}{label[1:]}: {group.name}"
    return Drawing(name, title, f"{RAW_NOTE}. {note}", drawn)


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Combinations by poller and scheduler, then all else, best first inside."""
    first = {"combination": 0, "queue": 0, "fiber": 0, "peer": 1, "named": 2}
    return sorted(rows, key=lambda row: (first[row.cell["kind"]], row.section))
