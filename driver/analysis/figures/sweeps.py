"""Lines along a swept load: connections, and the offered rate up to the knee."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from matplotlib.axes import Axes

from driver.analysis.comparison import Compared, Comparison, Estimate, Group, Row
from driver.analysis.figures import style
from driver.analysis.figures.style import Drawing
from driver.analysis.metrics import CPU, P50, P99, THROUGHPUT
from driver.analysis.records import REFERENCE

KEEPS_UP = 0.95  # share of the offered rate that a server must achieve to be before its knee
LENGTHS = ("requests", "duration_s")


def series(comparison: Comparison, swept: str) -> list[list[Group]]:
    """Groups that differ in nothing but this parameter, rising; only where there are several."""
    found: dict[str, list[Group]] = defaultdict(list)
    for group in comparison.groups:
        if group.metric.name == "value" or not group.parameters.get(swept) or not group.rows:
            continue
        rest = {key: value for key, value in group.parameters.items()
                if key != swept and key not in LENGTHS and key != "tuning"}
        found[f"{group.rows[0].cell['workload']} {group.name.split(',')[0]} "
              f"{sorted(rest.items(), key=str)}"].append(group)
    lines = [sorted(groups, key=lambda group: group.parameters[swept])
             for groups in found.values()]
    return [groups for groups in lines
            if len({group.parameters[swept] for group in groups}) == len(groups) > 1]


def by_section(groups: list[Group]) -> dict[str, list[str]]:
    """The names of rows to be drawn together; the reference is in each figure, so in none here."""
    found: dict[str, list[str]] = {}
    for group in groups:
        for row in sorted(group.rows, key=lambda row: row.name):
            if row.cell["reference"] != REFERENCE:
                names = found.setdefault(row.section, [])
                if row.name not in names:
                    names.append(row.name)
    return found


def _row(group: Group, name: str) -> Row | None:
    return next((row for row in group.rows if row.name == name), None)


Points = list[tuple[float, Estimate]]


def _points(groups: list[Group], name: str, swept: str, metric: str,
            of: Callable[[Compared], Estimate | None]) -> Points:
    found = []
    for group in groups:
        row = _row(group, name)
        one = row.metrics.get(metric) if row else None
        estimate = of(one) if one else None
        if estimate is not None:
            found.append((group.parameters[swept], estimate))
    return found


def _line(axes: Axes, points: Points, label: str, look: dict, **more) -> None:
    if points:
        x, y = [at for at, _ in points], [estimate.median for _, estimate in points]
        low = [estimate.median - estimate.low for _, estimate in points]
        high = [estimate.high - estimate.median for _, estimate in points]
        axes.errorbar(x, y, yerr=[low, high], label=label, elinewidth=0.8, capsize=0,
                      **{**look, **more})


def _names(groups: list[Group], members: list[str]) -> list[tuple[str, str, dict]]:
    """Name, label and look; the reference last and black."""
    found = []
    for number, name in enumerate(members):
        row = next(row for group in groups if (row := _row(group, name)))
        found.append((name, row.short_name, style.mark_of(number % 6)))
    black = {"color": "black", "marker": ".", "linestyle": "-"}
    return [*found, (groups[0].reference, f"{groups[0].reference} (reference)", black)]


def connections(comparison: Comparison, groups: list[Group], stem: str, note: str
                ) -> list[Drawing]:
    """Throughput and CPU per request against connections, a figure a section. Throughput is a ratio
    unless the servers had cores of their own."""
    is_split = comparison.results.is_split
    found = []
    for section, members in by_section(groups).items():
        names = _names(groups, members)
        drawn = style.figure(3.1)
        upper, lower = drawn.subplots(2, 1, sharex=True)
        for name, label, look in names:
            _line(upper, _points(groups, name, "connections", THROUGHPUT.name,
                                 lambda one: one.centre if is_split else one.ratio), label, look)
            _line(lower, _points(groups, name, "connections", CPU.name, lambda one: one.centre),
                  label, look)
        upper.set_ylabel("requests/s" if is_split else f"requests/s,\nratio to "
                         f"{groups[0].reference}")
        if is_split:
            upper.set_ylim(bottom=0)
            upper.yaxis.set_major_formatter(lambda value, _: style.thousands(value))
        else:
            _vertical_ratios(upper)
        lower.set_ylim(bottom=0)
        lower.set_ylabel("server CPU\nus/request")
        lower.set_xlabel("connections (log scale)")
        style.step_axis(lower, [group.parameters["connections"] for group in groups])
        for axes in (upper, lower):
            axes.grid(color=style.GRID, linewidth=0.5)
        style.legend_below(drawn, lower)
        found.append(Drawing(f"connections-{stem}-{section}",
                             f"Throughput and CPU against connections: {section}",
                             f"{groups[0].rows[0].cell['workload']}. Lines: medians of CPU, paired "
                             f"ratios of throughput; bars: 95 % intervals. {note}", drawn))
    return found


def _vertical_ratios(axes: Axes) -> None:
    """A log axis whose round ticks hold all that is drawn."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    low, high = min(low, 0.95), max(high, 1.05)
    steps = next(ticks for limit, ticks in style.RATIO_STEPS if high / low <= limit)
    axes.set_ylim(low, high)
    axes.set_yticks([tick for tick in steps if low <= tick <= high])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_locator(style.NullLocator())
    axes.axhline(1, color="black", linewidth=0.5, zorder=0)


def before_knee(groups: list[Group], name: str) -> tuple[list[Group], list[Group]]:
    """Those in which the row keeps up with what is offered, and the first in which it does not."""
    kept: list[Group] = []
    for group in groups:
        row = _row(group, name)
        one = row.metrics.get(THROUGHPUT.name) if row else None
        if one and one.centre and one.centre.median < KEEPS_UP * group.parameters["rate_rps"]:
            return kept, [group]
        kept.append(group)
    return kept, []


def load(groups: list[Group], stem: str, note: str) -> list[Drawing]:
    """Latency against the offered rate: p99 and the median, up to the knee."""
    found = []
    for section, members in by_section(groups).items():
        names = _names(groups, members)
        drawn = style.figure(2.9)
        panels = drawn.subplots(2, 1, sharex=True)
        for axes, metric, title in zip(panels, (P99, P50), ("p99 latency", "median latency")):
            for name, label, look in names:
                kept, beyond = before_knee(groups, name)

                def us(one: Compared) -> Estimate | None:
                    return one.centre and one.centre.map(lambda ns: ns / 1000)
                _line(axes, _points(kept, name, "rate_rps", metric.name, us), label, look)
                _line(axes, _points(beyond, name, "rate_rps", metric.name, us), "_beyond",
                      {**look, "linestyle": "none"}, markerfacecolor="white")
            axes.set_yscale("log")
            axes.set_ylabel(f"{title}, us")
            axes.grid(color=style.GRID, linewidth=0.5)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter(lambda value, _: style.thousands(value))
        axes.set_xlabel("offered requests/s")
        style.legend_below(drawn, axes)
        found.append(Drawing(
            f"load-{stem}-{section}", f"Latency against offered load: {section}",
            "Open loop, latency from the intended start. Lines end at the knee; a hollow mark: the "
            f"first rate of which less than {KEEPS_UP:.0%} was achieved. Medians over rounds and "
            f"95 % intervals. {note}", drawn))
    return found
