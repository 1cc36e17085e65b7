"""Stacked bars of what a request costs, and the counters of its scheduler."""
from __future__ import annotations

from driver.analysis import detail_tables
from driver.analysis.comparison import Group, Row
from driver.analysis.figures import style
from driver.analysis.figures.dots import height_of, in_order, lay_out
from driver.analysis.figures.style import Drawing

MOST_KINDS = 6  # of system calls; rarer ones are added up
MOST_COUNTERS = 6


def _stacked(axes, y: float, parts: list[tuple[str, float]], kinds: list[str], seen: set[str]
             ) -> None:
    left = 0.0
    for kind, width in parts:
        at = kinds.index(kind)
        axes.barh(y, width, 0.68, left, color=style.COLOURS[at % 7], edgecolor="white",
                  linewidth=0.3, hatch=style.HATCHES[at % 7],
                  label=kind if kind not in seen else "_again")
        seen.add(kind)
        left += width


def _bars(rows: list[tuple[Row, list[tuple[str, float]]]], kinds: list[str], label: str):
    parts = {row.cell["cell"]: found for row, found in rows}
    shown = [row for row, _ in rows]
    drawn = style.figure(height_of(shown) + 0.45)
    axes = drawn.add_subplot()
    seen: set[str] = set()
    for y, _, row in lay_out(axes, shown):
        _stacked(axes, y, parts[row.cell["cell"]], kinds, seen)
    style.value_axis(axes, [sum(width for _, width in found) for _, found in rows])
    style.legend_below(drawn, axes, min(3, len(kinds)), style.wide_label(drawn, label))
    return drawn


def processor(group: Group, stem: str, note: str) -> Drawing | None:
    """User and system time of one request."""
    rows = []
    for row in in_order(group.rows):
        cpu = detail_tables.user_and_system_us(row)
        if cpu is not None:
            rows.append((row, list(zip(("user", "system"), cpu))))
    if not rows:
        return None
    return Drawing(f"cost-{stem}", f"Processor time of a request: {group.name}",
                   f"Medians over rounds. {note}",
                   _bars(rows, ["user", "system"], "server CPU, us/request"))


def switches(group: Group, stem: str, note: str) -> Drawing | None:
    """Context switches of one request."""
    kinds = ["voluntary", "involuntary"]
    rows = []
    for row in in_order(group.rows):
        found = [detail_tables.per_request(row, f"{kind}_switches") for kind in kinds]
        if None not in found:
            rows.append((row, list(zip(kinds, found))))
    if not rows:
        return None
    return Drawing(f"switches-{stem}", f"Context switches of a request: {group.name}",
                   f"Medians over rounds. {note}", _bars(rows, kinds, "switches/request"))


def system_calls(group: Group, counts: dict[str, dict], stem: str, note: str) -> Drawing | None:
    """System calls of one request by kind, from the untimed rounds."""
    rows = [(row, calls) for row in in_order(group.rows)
            if (calls := detail_tables.calls_of(counts.get(row.cell["cell"])))]
    if not rows:
        return None
    total: dict[str, float] = {}
    for _, calls in rows:
        for kind, number in calls.items():
            total[kind] = total.get(kind, 0) + number
    kinds = sorted(total, key=lambda kind: (-total[kind], kind))[:MOST_KINDS]
    parts = []
    for row, calls in rows:
        found = [(kind, calls[kind]) for kind in kinds if kind in calls]
        other = sum(number for kind, number in calls.items() if kind not in kinds)
        parts.append((row, found + ([("other", other)] if other else [])))
    named = kinds + (["other"] if any("other" in dict(found) for _, found in parts) else [])
    return Drawing(f"calls-{stem}", f"System calls of a request: {group.name}",
                   f"Counted in separate, untimed rounds. {note}",
                   _bars(parts, named, "system calls/request"))


def counters(group: Group, counts: dict[str, dict], stem: str, note: str) -> Drawing | None:
    """Scheduler counters of one request, a panel a counter, each from zero."""
    rows = [(row, found) for row in in_order(group.rows)
            if (found := (counts.get(row.cell["cell"]) or {}).get("counters_per_request"))]
    total: dict[str, float] = {}
    for _, found in rows:
        for name, number in found.items():
            total[name] = total.get(name, 0) + number
    names = sorted((name for name in total if total[name]),
                   key=lambda name: (-total[name], name))[:MOST_COUNTERS]
    if not names:
        return None
    shown = [row for row, _ in rows]
    drawn = style.figure(len(names) * (height_of(shown) + 0.42))
    for axes, name in zip(drawn.subplots(len(names), 1, squeeze=False)[:, 0], names):
        known = {row.cell["cell"]: found.get(name, 0) for row, found in rows}
        for y, section, row in lay_out(axes, shown):
            look = style.mark_of(section)
            axes.plot([0, known[row.cell["cell"]]], [y, y], color=look["color"], linewidth=0.8)
            axes.plot([known[row.cell["cell"]]], [y], color=look["color"], marker=look["marker"],
                      clip_on=False)
        style.value_axis(axes, list(known.values()))
        axes.set_xlabel(f"{name.replace('_', ' ')} a request")
    return Drawing(f"counters-{stem}", f"Scheduler counters of a request: {group.name}",
                   f"Counted in separate, untimed rounds; the {len(names)} most frequent. {note}",
                   drawn)
