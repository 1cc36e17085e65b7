"""What the pages and tables of `bench queues` are made of."""
from __future__ import annotations

import math
from html import escape

from driver.analysis.estimates import FEWEST_ROUNDS_FOR_95

BLUE, GREY = "#0072B2", "#999999"  # Okabe-Ito


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
