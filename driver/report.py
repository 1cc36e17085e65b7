"""The end of a comparison: a table for the terminal, and one self-contained HTML page."""
from __future__ import annotations

import math
from html import escape

from driver.analysis.estimates import FEWEST_ROUNDS_FOR_95, Estimate
from driver.environment import SHARED_CORES
from driver.estimates import Summary

COLUMNS = ("row", "CPU/request ratio", "requests/s ratio", "CPU us/request", "requests/s", "rounds",
           "errors")
BLUE, GREY = "#0072B2", "#999999"  # Okabe-Ito


def _ratio(value: Estimate | None) -> str:
    return f"{value.median:.3f} [{value.low:.3f}, {value.high:.3f}]" if value else "-"


def cells(summary: Summary) -> list[str]:
    """One row of the table as text, in the order of COLUMNS."""
    name = f"{summary.row} ({summary.kind})" if summary.kind else summary.row
    return [name, _ratio(summary.cpu_ratio), _ratio(summary.throughput_ratio),
            "-" if summary.cpu_us_per_request is None else f"{summary.cpu_us_per_request:.2f}",
            "-" if summary.throughput_rps is None else f"{summary.throughput_rps:.0f}",
            str(summary.cpu_ratio.rounds if summary.cpu_ratio else 0), summary.errors_text()]


def text_table(summaries: list[Summary]) -> str:
    """The table of a comparison of servers."""
    return aligned(COLUMNS, [cells(summary) for summary in summaries])


def aligned(columns: tuple[str, ...], rows: list[list[str]]) -> str:
    """Columns aligned, names left and numbers right, errors last and unpadded."""
    lines = [list(columns), *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    text = []
    for line in lines:
        padded = [line[0].ljust(widths[0])]
        padded += [line[i].rjust(widths[i]) for i in range(1, len(columns) - 1)]
        text.append("  ".join([*padded, line[-1]]).rstrip())
    return "\n".join(text)


def interval_note(rounds: int) -> str:
    """What the brackets mean for this many rounds."""
    if rounds < FEWEST_ROUNDS_FOR_95:
        return f"brackets: range over {rounds} round(s), which covers less than 95 %"
    return f"brackets: 95 % bootstrap interval of the median over {rounds} rounds"


def noise_line(again: Summary | None) -> str:
    """The A/A' line: what the reference shows against itself."""
    if not again or not again.cpu_ratio or not again.throughput_ratio:
        return "A/A': not measured, so differences cannot be told from noise"
    return (f"A/A' (the reference against itself): CPU/request {_ratio(again.cpu_ratio)}, "
            f"requests/s {_ratio(again.throughput_ratio)}; a difference inside this band is noise")


class LogAxis:
    """Positive values to x positions; the range holds them all."""

    def __init__(self, values: list[float], left: float, right: float):
        self.low = min(values) / 1.05
        self.high = max(values) * 1.05
        self.left, self.right = left, right

    def at(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.left + share * (self.right - self.left)

    def ticks(self) -> list[float]:
        """Round values inside the range; finer ones when the range is narrow."""
        decades = [10.0 ** power for power in range(-6, 13)]
        if self.high / self.low < 1.6:
            steps = [0.8, 0.9, 1, 1.1, 1.2, 1.3]
        elif self.high / self.low < 50:
            steps = sorted([0.7, 0.8, 1.2, 1.5, 3,
                            *(unit * step for unit in decades for step in (1, 2, 5))])
        else:
            steps = decades
        return [step for step in steps if self.low <= step <= self.high]


def dot_plot(summaries: list[Summary], band: Estimate | None) -> str:
    """SVG: CPU per request as ratio on a log axis; raw rounds faint, median and interval on top."""
    rows = [summary for summary in summaries if summary.cpu_ratio]
    if not rows:
        return "<p>No row has a ratio to the reference.</p>"
    step, top, width = 18, 24, 760
    left = 20 + 6.6 * max(len(summary.row) for summary in rows)
    width = int(max(width, left + 420))
    height = top + step * len(rows) + 40
    values = [x for s in rows for x in (*s.cpu_ratios, s.cpu_ratio.low, s.cpu_ratio.high)]
    axis = LogAxis([1.0, *values], left, width - 20)
    bottom = top + step * len(rows)
    parts = [f'<svg role="img" viewBox="0 0 {width} {height}" width="{width}" font-size="12">'
             "<title>Server CPU per request, ratio to the reference</title>"]
    if band:
        x, end = axis.at(band.low), axis.at(band.high)
        parts.append(f'<rect x="{x:.1f}" y="{top}" width="{max(end - x, 1):.1f}" '
                     f'height="{bottom - top}" fill="{GREY}" fill-opacity="0.25"/>')
    for tick in axis.ticks():
        x, colour = axis.at(tick), "#333" if tick == 1 else "#ddd"
        parts.append(f'<path d="M{x:.1f} {top}V{bottom}" stroke="{colour}"/>'
                     f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>')
    for index, summary in enumerate(rows):
        y = top + step * (index + 0.5)
        value = summary.cpu_ratio
        parts.append(f'<text x="{left - 8:.0f}" y="{y + 4:.1f}" text-anchor="end">'
                     f"{escape(summary.row)}</text>")
        parts += [f'<circle cx="{axis.at(ratio):.1f}" cy="{y:.1f}" r="2" fill="{GREY}" '
                  f'fill-opacity="0.7"/>' for ratio in summary.cpu_ratios]
        parts.append(f'<path d="M{axis.at(value.low):.1f} {y:.1f}H{axis.at(value.high):.1f}" '
                     f'stroke="{BLUE}" stroke-width="2"/>'
                     f'<circle cx="{axis.at(value.median):.1f}" cy="{y:.1f}" r="4" fill="{BLUE}">'
                     f"<title>{escape(summary.row)}: {_ratio(value)}</title></circle>")
    parts.append(f'<text x="{(left + width - 20) / 2:.0f}" y="{bottom + 34}" text-anchor="middle">'
                 "server CPU per request, ratio to the reference (log scale; less is better)"
                 "</text></svg>")
    return "\n".join(parts)


_STYLE = """
body{font:15px/1.45 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:1rem 0}
th,td{padding:.2rem .7rem;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}
th:first-child,td:first-child,td:last-child,th:last-child{text-align:left}
td:last-child{white-space:normal;min-width:16em}
.wide{overflow-x:auto}
.box{border-left:4px solid #999;padding:.2rem 1rem}
"""


def html_table(header: tuple[str, ...], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    lines = ["".join(f"<td>{escape(text)}</td>" for text in row) for row in rows]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return (f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>\n{body}\n</tbody></table></div>")


def limitations(cores: int, few: int) -> list[str]:
    """What this comparison cannot show; printed last and boxed in the page."""
    lines = ["server and load generator run on the same host over loopback"]
    if cores <= few:
        lines.insert(0, SHARED_CORES)
    return lines


def document(title: str, body: str, limits: list[str], facts: dict) -> str:
    """A whole page around `body`; no script, no external resource."""
    environment = [[key, "unknown" if value is None else str(value)]
                   for key, value in facts.items()]
    box = "".join(f"<li>{escape(limit)}</li>" for limit in limits)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>
<style>{_STYLE}</style></head><body>
<h1>{escape(title)}</h1>
{body}
<div class="box"><strong>Limits</strong><ul>{box}</ul></div>
<h2>Environment</h2>
{html_table(("what", "value"), environment)}
</body></html>
"""


def page(title: str, summaries: list[Summary], again: Summary | None, facts: dict, notes: list[str],
         limits: list[str]) -> str:
    """The page of a comparison of servers. `notes` follow the figure as its caption."""
    caption = " ".join(f"{escape(note)}." for note in [*notes, noise_line(again)])
    return document(title, f"""\
<div class="wide">{dot_plot(summaries, again.cpu_ratio if again else None)}</div>
<p>{caption} Grey band: interval of A/A'. Faint dots: single rounds.</p>
{html_table(COLUMNS, [cells(summary) for summary in summaries])}""", limits, facts)
