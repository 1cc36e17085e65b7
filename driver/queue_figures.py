"""Figures of the queue benchmarks as SVG: operations a second by threads, and latencies."""
from __future__ import annotations

import math
from html import escape

from driver.analysis.estimates import Estimate
from driver.queue_estimates import CellSummary
from driver.report import BLUE, GREY, LogAxis

# Okabe-Ito; together with four marks that are told apart in grey, so for 32 queues.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C7A00")
MARKS = ("circle", "square", "diamond", "triangle")
LABEL_STEP = 13


def mark(kind: str, x: float, y: float, colour: str, title: str) -> str:
    """One filled mark with a title that a pointer brings up."""
    corners = {"square": ((-3, -3), (3, -3), (3, 3), (-3, 3)),
               "diamond": ((0, -4.5), (4.5, 0), (0, 4.5), (-4.5, 0)),
               "triangle": ((0, -4.5), (4, 3), (-4, 3))}
    text = f"<title>{escape(title)}</title>"
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}">{text}</circle>'
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners[kind])
    return f'<polygon points="{points}" fill="{colour}">{text}</polygon>'


def _style_of(index: int) -> tuple[str, str]:
    return COLOURS[index % len(COLOURS)], MARKS[index // len(COLOURS) % len(MARKS)]


def spread(wanted: list[float], step: float, low: float, high: float) -> list[float]:
    """Places for labels near where they are wanted, at least `step` apart, from `low` on; within
    `high` too when they fit."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    places = [0.0] * len(wanted)
    at = low - step
    for i in order:
        at = max(at + step, wanted[i])
        places[i] = at
    limit = high
    for i in reversed(order):
        places[i] = max(low, min(places[i], limit))
        limit = places[i] - step
    return places


def _round_step(largest: float) -> float:
    """A round distance of about five ticks up to `largest`."""
    power = 10.0 ** math.floor(math.log10(largest / 5))
    return next(power * unit for unit in (1, 2, 5, 10) if power * unit >= largest / 5)


def _span(value: Estimate) -> str:
    return f"{value.median:.3g} [{value.low:.3g}, {value.high:.3g}]"


def throughput_plot(group: list[CellSummary]) -> str:
    """SVG: Mops/s from zero by thread count, with intervals, for the cells of one series."""
    points: dict[str, list[tuple[int, Estimate]]] = {}
    for cell in sorted(group, key=lambda cell: cell.cell.threads):
        for queue in cell.queues:
            if queue.mops_per_second:
                points.setdefault(queue.queue, []).append((cell.cell.threads,
                                                           queue.mops_per_second))
    if not points:
        return "<p>Nothing was measured.</p>"
    counts = sorted({threads for line in points.values() for threads, _ in line})
    top, left, right, width = 12, 60, 420, 640
    bottom = top + max(260, LABEL_STEP * len(points))
    largest = max(value.high for line in points.values() for _, value in line)
    step = _round_step(largest)

    def x_at(threads: int) -> float:
        share = counts.index(threads) / (len(counts) - 1) if len(counts) > 1 else 0.5
        return left + 30 + share * (right - left - 60)

    def y_at(rate: float) -> float:
        return bottom - rate / (largest * 1.03) * (bottom - top)

    parts = [f'<svg role="img" viewBox="0 0 {width} {bottom + 44}" width="{width}" font-size="12">'
             f"<title>Operations a second by threads: {escape(group[0].cell.series)}</title>"]
    for number in range(int(largest / step) + 1):
        y = y_at(number * step)
        parts.append(f'<path d="M{left} {y:.1f}H{right}" stroke="#ddd"/><text x="{left - 6}" '
                     f'y="{y + 4:.1f}" text-anchor="end">{number * step:g}</text>')
    parts += [f'<text x="{x_at(n):.1f}" y="{bottom + 16}" text-anchor="middle">{n}</text>'
              for n in counts]
    parts.append(f'<text x="{(left + right) / 2}" y="{bottom + 34}" text-anchor="middle">threads'
                 f'</text><text transform="translate(14 {(top + bottom) / 2}) rotate(-90)" '
                 'text-anchor="middle">million operations a second</text>')
    names = list(points)
    ends = [y_at(points[name][-1][1].median) for name in names]
    for index, (name, label_y) in enumerate(zip(names, spread(ends, LABEL_STEP, top, bottom))):
        colour, kind = _style_of(index)
        line = points[name]
        path = "L".join(f"{x_at(n):.1f} {y_at(value.median):.1f}" for n, value in line)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}"/>')
        for threads, value in line:
            x = x_at(threads)
            parts.append(f'<path d="M{x:.1f} {y_at(value.low):.1f}V{y_at(value.high):.1f}" '
                         f'stroke="{colour}" stroke-width="2"/>')
            parts.append(mark(kind, x, y_at(value.median), colour,
                              f"{name}, {threads} threads: {_span(value)} Mops/s"))
        end_x = x_at(line[-1][0])
        parts.append(f'<path d="M{end_x + 6:.1f} {ends[index]:.1f}L{right + 14} {label_y:.1f}" '
                     f'stroke="{colour}" stroke-width="0.5"/>'
                     f'{mark(kind, right + 20, label_y, colour, name)}'
                     f'<text x="{right + 28}" y="{label_y + 4:.1f}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"])


def latency_plot(cell: CellSummary) -> str:
    """SVG: p50, p90, p99 and p99.9 of each queue on a log axis, with intervals."""
    rows = [queue for queue in cell.queues if queue.latency_ns.get("p50")]
    shown = ("p50", "p90", "p99", "p99.9")
    values = [x for queue in rows for name in shown if (value := queue.latency_ns.get(name))
              for x in (value.low, value.high) if x > 0]
    if not values:
        return "<p>No operation was timed.</p>"
    step, top, width = 18, 30, 760
    left = 20 + 6.6 * max(len(queue.queue) for queue in rows)
    bottom = top + step * len(rows)
    axis = LogAxis(values, left, width - 20)
    parts = [f'<svg role="img" viewBox="0 0 {width} {bottom + 40}" width="{width}" font-size="12">'
             f"<title>Times of one {cell.latency_name}: {escape(cell.cell.label)}</title>"]
    for index, name in enumerate(shown):
        x = left + 70 * index + 8
        parts.append(mark(MARKS[index], x, 10, BLUE, name) + f'<text x="{x + 8}" y="14">{name}</text>')
    for tick in axis.ticks():
        x = axis.at(tick)
        parts.append(f'<path d="M{x:.1f} {top}V{bottom}" stroke="#ddd"/><text x="{x:.1f}" '
                     f'y="{bottom + 16}" text-anchor="middle">{tick:g}</text>')
    for index, queue in enumerate(rows):
        y = top + step * (index + 0.5)
        parts.append(f'<text x="{left - 8:.0f}" y="{y + 4:.1f}" text-anchor="end">'
                     f"{escape(queue.queue)}</text>")
        for kind, name in zip(MARKS, shown):
            value = queue.latency_ns.get(name)
            if value is None or value.low <= 0:
                continue
            parts.append(f'<path d="M{axis.at(value.low):.1f} {y:.1f}H{axis.at(value.high):.1f}" '
                         f'stroke="{GREY}" stroke-width="2"/>')
            parts.append(mark(kind, axis.at(value.median), y, BLUE,
                              f"{queue.queue} {name}: {_span(value)} ns"))
    parts.append(f'<text x="{(left + width - 20) / 2:.0f}" y="{bottom + 34}" text-anchor="middle">'
                 f"time of one {cell.latency_name} in ns (log scale; less is better)</text></svg>")
    return "\n".join(parts)
