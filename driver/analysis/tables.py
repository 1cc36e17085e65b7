"""One table, and its forms: text, HTML, Markdown, LaTeX (booktabs) and CSV."""
from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from html import escape

from driver.analysis.estimates import Estimate
from driver.analysis.numbers import plain, with_interval

Value = str | int | float | Estimate | None

_LATEX = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
          "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
          "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "µ": r"\textmu{}",
          "±": r"$\pm$", "×": r"$\times$", "≤": r"$\le$", "–": "--"}


@dataclass(frozen=True)
class Column:
    """`name` is what people read, with the unit; `key` the name in CSV files, with the unit last.
    Texts stand left, numbers right; `wraps` lets a long text break."""

    name: str
    key: str
    is_text: bool = False
    wraps: bool = False


@dataclass
class Table:
    """`name` becomes a file's name; rows hold texts, numbers and estimates, None for what is not
    known."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: list[list[Value]]
    caption: str = ""
    groups: dict[int, str] = field(default_factory=dict)  # a heading above the row of this number


def shown(value: Value) -> str:
    """A cell as people read it."""
    if isinstance(value, Estimate) or value is None:
        return with_interval(value)
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else \
        plain(value)


def text(table: Table) -> str:
    """Aligned columns; a wrapping last column stays unpadded."""
    lines = [[column.name for column in table.columns],
             *([shown(value) for value in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    padded = []
    for line in lines:
        cells = [cell.ljust(width) if column.is_text else cell.rjust(width)
                 for cell, width, column in zip(line, widths, table.columns)]
        padded.append("  ".join(cells).rstrip())
    return "\n".join(padded)


def html(table: Table) -> str:
    """A table that scrolls sideways in its own box where the page is narrow."""
    kinds = [" ".join(name for name, set_ in (("text", column.is_text), ("wrap", column.wraps))
                      if set_) for column in table.columns]
    head = "".join(f'<th scope="col" class="{kind}">{escape(column.name)}</th>'
                   for kind, column in zip(kinds, table.columns))
    lines = []
    for number, row in enumerate(table.rows):
        if number in table.groups:
            lines.append(f'<tr><th class="group" colspan="{len(row)}" scope="rowgroup">'
                         f"{escape(table.groups[number])}</th></tr>")
        lines.append("<tr>" + "".join(f'<td class="{kind}">{escape(shown(value))}</td>'
                                      for kind, value in zip(kinds, row)) + "</tr>")
    return (f'<div class="wide" tabindex="0" role="region" aria-label="{escape(table.title)}">'
            f"<table><caption>{escape(table.caption)}</caption><thead><tr>{head}</tr></thead>"
            "<tbody>\n" + "\n".join(lines) + "\n</tbody></table></div>")


def markdown(table: Table) -> str:
    """With the title above and the caption below."""
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    rule = "|" + "|".join("---" if column.is_text else "---:" for column in table.columns) + "|"
    body = []
    for number, row in enumerate(table.rows):
        if number in table.groups:
            body.append(line([f"**{table.groups[number]}**", *[""] * (len(row) - 1)]))
        body.append(line([shown(value) for value in row]))
    return "\n".join([f"### {table.title}", "", line([c.name for c in table.columns]), rule, *body,
                      "", table.caption, ""])


def latex_text(value: str) -> str:
    """A text with what LaTeX would take for commands made harmless."""
    return "".join(_LATEX.get(letter, letter) for letter in value)


def latex(table: Table) -> str:
    """A floating table; its preamble needs booktabs and graphicx, to shrink what is too wide."""
    columns = "".join("p{5cm}" if column.wraps else "l" if column.is_text else "r"
                      for column in table.columns)

    def line(cells: list[str]) -> str:
        return " & ".join(map(latex_text, cells)) + r" \\"
    body = []
    for number, row in enumerate(table.rows):
        if number in table.groups:
            body += [r"\midrule"] if number else []
            body.append(rf"\multicolumn{{{len(row)}}}{{l}}{{\textit{{"
                        rf"{latex_text(table.groups[number])}}}}} \\")
        body.append(line([shown(value) for value in row]))
    label = re.sub(r"[^a-z0-9-]+", "-", table.name.lower())
    return "\n".join([
        r"\begin{table}", r"\centering", rf"\caption{{{latex_text(table.title)}. "
        rf"{latex_text(table.caption)}}}", rf"\label{{tab:{label}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}", r"\toprule",
        line([column.name for column in table.columns]), r"\midrule", *body, r"\bottomrule",
        r"\end{tabular}}", r"\end{table}", ""])


def csv_text(table: Table) -> str:
    """Whole numbers, not rounded; an estimate fills four columns."""
    estimates = [any(isinstance(row[at], Estimate) for row in table.rows)
                 for at in range(len(table.columns))]
    head = [] if not table.groups else ["group"]
    for column, wide in zip(table.columns, estimates):
        head += [column.key, f"{column.key}_low", f"{column.key}_high", f"{column.key}_rounds"] \
            if wide else [column.key]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    group = ""
    for number, row in enumerate(table.rows):
        group = table.groups.get(number, group)
        cells: list = [group] if table.groups else []
        for value, wide in zip(row, estimates):
            if isinstance(value, Estimate):
                cells += [value.median, value.low, value.high, value.rounds]
            else:
                cells += ["" if value is None else value, *[""] * (3 if wide else 0)]
        writer.writerow(cells)
    return out.getvalue()
