"""Queue by scheduler for each poller, as ratios on a diverging scale; the A/A' band in grey."""
from __future__ import annotations

import math

from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgb
from matplotlib.cm import ScalarMappable

from driver.analysis.comparison import Band, Group, Row
from driver.analysis.figures import style
from driver.analysis.figures.style import Drawing

DIVERGING = LinearSegmentedColormap.from_list(
    "worse-better", ["#A63F00", "#D55E00", "#F2B88F", "#FFFFFF", "#9CC7E3", "#0072B2", "#00476F"])
IN_BAND = "#C4C4C4"
LEAST_SPAN = math.log(1.05)


def _matrix(group: Group, poller: str) -> dict[tuple[str, str], Row]:
    """The row of each queue and scheduler; of several tunings the first by name."""
    found: dict[tuple[str, str], Row] = {}
    for row in sorted(group.rows, key=lambda row: row.name):
        cell = row.cell
        if cell["kind"] == "combination" and cell.get("poller") == poller:
            found.setdefault((cell["queue"], cell["scheduler"]), row)
    return found


def _luminance(colour: tuple) -> float:
    red, green, blue = colour[:3]
    return 0.299 * red + 0.587 * green + 0.114 * blue


def heat_maps(group: Group, metric: str, stem: str, note: str) -> list[Drawing]:
    """One figure a poller that has at least two queues or schedulers."""
    pollers = sorted({row.cell["poller"] for row in group.rows
                      if row.cell["kind"] == "combination" and row.cell.get("poller")})
    found = []
    for poller in pollers:
        rows = _matrix(group, poller)
        if len(rows) > 1 and any(row.metrics[metric].ratio for row in rows.values()):
            found.append(_heat_map(group, metric, poller, rows, stem, note))
    return found


def _heat_map(group: Group, metric: str, poller: str, rows: dict[tuple[str, str], Row], stem: str,
              note: str) -> Drawing:
    queues = sorted({queue for queue, _ in rows})
    schedulers = sorted({scheduler for _, scheduler in rows})
    kind = next(iter(rows.values())).metrics[metric].metric
    logarithms = {at: math.log(row.metrics[metric].ratio.median) for at, row in rows.items()
                  if row.metrics[metric].ratio}
    span = max(LEAST_SPAN, *(abs(value) for value in logarithms.values()))
    norm = Normalize(-span, span)
    drawn = style.figure(0.2 * len(queues) + 1.15)
    axes = drawn.add_subplot()
    between = group.band(metric)
    for y, queue in enumerate(queues):
        for x, scheduler in enumerate(schedulers):
            _cell(axes, x, y, logarithms.get((queue, scheduler)), between, norm, kind.better)
    axes.set_xlim(0, len(schedulers))
    axes.set_ylim(len(queues), 0)
    axes.set_xticks([x + 0.5 for x in range(len(schedulers))],
                    [name.removeprefix("work-") for name in schedulers])
    axes.set_yticks([y + 0.5 for y in range(len(queues))], queues)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("scheduler")
    axes.set_ylabel("run queue")
    _scale(drawn, axes, norm, kind, group.reference)
    where = (f"grey: within {between.low:.3f} to {between.high:.3f}, the band of A/A'" if between
             else "no A/A' band: too few rounds")
    title = f"{kind.title[0].upper()}{kind.title[1:]} on {poller}: {group.name}"
    return Drawing(f"matrix-{stem}-{poller}", title,
                   f"Estimated ratio to {group.reference}; {where}; a dash: not measured. Blue is "
                   f"better, orange worse. {note}", drawn)


def _cell(axes, x: int, y: int, value: float | None, between: Band | None, norm: Normalize,
          better: int) -> None:
    colour, text = (1.0, 1.0, 1.0), "-"
    if value is not None:
        ratio = math.exp(value)
        inside = between is not None and between.holds(ratio)
        colour = to_rgb(IN_BAND) if inside else DIVERGING(norm(value * better))
        text = f"{ratio:.2f}"
    axes.fill([x, x + 1, x + 1, x], [y, y, y + 1, y + 1], color=colour, edgecolor="white",
              linewidth=1)
    axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=6.5,
              color="white" if _luminance(colour) < 0.5 else "black")


def _scale(drawn, axes, norm: Normalize, kind, reference: str) -> None:
    """A horizontal bar below, in ratios; for a metric of which less is better it runs down."""
    shown = ScalarMappable(norm, DIVERGING)
    bar = drawn.colorbar(shown, ax=axes, orientation="horizontal", aspect=40, pad=0.02)
    steps = [-norm.vmax, -norm.vmax / 2, 0, norm.vmax / 2, norm.vmax]
    bar.set_ticks(steps, labels=[f"{math.exp(step * kind.better):.2f}" for step in steps])
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2)
    bar.set_label(f"{kind.title}, ratio to {reference} (log scale)")
