"""How figures look: one column wide, colours and marks that stay apart in grey, embedded fonts."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

WIDTH_IN = 3.33  # one column of a two-column paper
ROW_IN = 0.135
LABEL_PAD_IN = 0.03
# Okabe-Ito without its yellow, which white paper swallows, and with black last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++", "oo")
BAND, POINT, GRID = "#DDDDDD", "#888888", "#E6E6E6"
SETTINGS = {
    "font.family": "DejaVu Sans", "font.size": 7, "axes.titlesize": 7.5, "axes.labelsize": 7,
    "xtick.labelsize": 6.5, "ytick.labelsize": 6.5, "legend.fontsize": 6.5, "axes.linewidth": 0.6,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "lines.linewidth": 1.0,
    "lines.markersize": 3.5, "hatch.linewidth": 0.4, "pdf.fonttype": 42, "ps.fonttype": 42,
    "svg.fonttype": "path", "svg.hashsalt": "heddle", "axes.spines.top": False,
    "axes.spines.right": False, "legend.frameon": False, "figure.constrained_layout.use": True,
    "axes.axisbelow": True, "path.simplify": True}
RATIO_STEPS = (
    (1.25, (0.8, 0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.15, 1.2)),
    (1.7, (0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.4, 1.6)),
    (6, (0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5)),
    (60, (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)),
    (math.inf, tuple(10.0 ** power for power in range(-6, 7))))


@dataclass
class Drawing:
    """One figure. `name` becomes a file's name; `caption` is printed below it."""

    name: str
    title: str
    caption: str
    figure: Figure


def use() -> None:
    """Sets everything that a figure takes over when it is made."""
    matplotlib.rcdefaults()
    matplotlib.rcParams.update(SETTINGS)


def figure(height_in: float) -> Figure:
    """An empty one, one column wide."""
    return Figure(figsize=(WIDTH_IN, height_in))


def ratio_axis(axes: Axes, values: Sequence[float]) -> None:
    """A horizontal log axis of ratios that holds all values and 1, with few round ticks."""
    low, high = min([1.0, *values]), max([1.0, *values])
    span = math.log(high / low) or 0.1
    low, high = low / math.exp(0.06 * span + 0.005), high * math.exp(0.06 * span + 0.005)
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    steps = next(ticks for limit, ticks in RATIO_STEPS if high / low <= limit)
    ticks = [tick for tick in steps if low <= tick <= high]
    while len(ticks) > 6:
        ticks = [tick for at, tick in enumerate(ticks) if (at - ticks.index(1)) % 2 == 0]
    _fixed(axes, ticks)
    axes.axvline(1, color="black", linewidth=0.6, zorder=1)


def _fixed(axes: Axes, ticks: Sequence[float]) -> None:
    axis = axes.xaxis
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
    axes.set_xticklabels([f"{tick:g}" for tick in ticks])


def value_axis(axes: Axes, values: Sequence[float]) -> None:
    """A horizontal linear axis from zero, about five ticks."""
    axes.set_xlim(0, max(values, default=1) * 1.06 or 1)
    axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(5))
    axes.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda x, _: thousands(x)))


def thousands(value: float) -> str:
    """5000 as 5k, 1200000 as 1.2M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def step_axis(axes: Axes, values: Sequence[float]) -> None:
    """A horizontal log axis with a tick at each measured value, labels thinned to fit."""
    axes.set_xscale("log")
    axes.set_xlim(min(values) / 1.25, max(values) * 1.25)
    _fixed(axes, values)
    least = 0.09 * math.log(max(values) / min(values) * 1.6)
    kept: list[float] = []
    for value in values:
        if not kept or math.log(value / kept[-1]) > least:
            kept.append(value)
    axes.set_xticklabels([thousands(value) if value in kept else "" for value in values])


def mark_of(index: int) -> dict:
    """Colour, mark and dashes of the line with this number; all three repeat after seven."""
    at = index % len(COLOURS)
    return {"color": COLOURS[at], "marker": MARKS[at], "linestyle": DASHES[at]}


def wide_label(drawn: Figure, text: str) -> Text:
    """The horizontal axis's label in the middle of the figure, where long names leave the axis
    itself little room."""
    label = drawn.supxlabel(text, y=LABEL_PAD_IN / drawn.get_figheight(), va="bottom",
                            fontsize=SETTINGS["axes.labelsize"])
    _keep_free(drawn, _height_of(label))
    return label


def _height_of(label: Text) -> float:
    return LABEL_PAD_IN + 0.12 * len(label.get_text().splitlines())


def _keep_free(drawn: Figure, height_in: float) -> None:
    """Nothing but legend and label is laid out so far from the bottom."""
    share = height_in / drawn.get_figheight()
    drawn.get_layout_engine().set(rect=(0, share, 1, 1 - share))


def legend_below(drawn: Figure, axes: Axes, columns: int = 2, label: Text | None = None) -> None:
    """A legend under everything, a wide label included, for which the figure grows."""
    handles, labels = axes.get_legend_handles_labels()
    height = 0.14 * math.ceil(len(labels) / columns) + 0.04
    whole = drawn.get_figheight() + height
    drawn.set_size_inches(WIDTH_IN, whole)
    _keep_free(drawn, height + (_height_of(label) if label else 0))
    if label is not None:
        label.set_y((height + LABEL_PAD_IN) / whole)
    drawn.legend(handles, labels, loc="lower center", ncols=columns, handlelength=2.6,
                 columnspacing=1.0, borderpad=0, borderaxespad=0.2, labelspacing=0.35)
