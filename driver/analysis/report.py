"""The report as a program of its own: one HTML page, and figures and tables for a paper.

usage: python3 -m driver.analysis.report DIRECTORY... [--out DIRECTORY] [--html] [--pdf] [--svg]
       [--latex] [--csv] [--markdown]
"""
from __future__ import annotations

import argparse
import io
import re
import sys
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from driver.analysis import content, limits, tables
from driver.analysis.comparison import Comparison, compare
from driver.analysis.detail_tables import Latencies
from driver.analysis.records import load_all
from driver.console import Problem, say

FORMATS = ("html", "pdf", "svg", "latex", "csv", "markdown")
PACKAGES = {"matplotlib": "python3-matplotlib", "jinja2": "python3-jinja2"}
LATER = {"Latency quantiles": 1, "Cost of one request": 1, "Scheduler counters": 1,
         "What could not be measured": 2, "Quality of the run": 2, "Environment": 2}
TEMPLATE = Path(__file__).with_name("report.html.j2")


@dataclass
class Section:
    """One heading of the page."""

    heading: str
    notes: list[str] = field(default_factory=list)
    figures: list[dict] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)


def missing_packages() -> list[str]:
    """The Debian packages without which there is no report."""
    found = []
    for module, package in PACKAGES.items():
        try:
            __import__(module)
        except ImportError:
            found.append(package)
    return found


def need_packages() -> None:
    """Problem that names what has to be installed."""
    missing = missing_packages()
    if missing:
        raise Problem("no report without Debian packages; run: apt-get install -y "
                      f"--no-install-recommends {' '.join(missing)}")


def svg_of(figure) -> str:
    """A figure as an SVG file; the same figure gives the same bytes. Paths are rounded to a
    hundredth of a point, which nobody sees and which halves the file."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return re.sub(r'( d="[^"]*"| [xy]="[^"]*")',
                  lambda found: re.sub(r"(\.\d\d)\d+", r"\1", found.group()), out.getvalue())


def inline(svg: str, name: str, title: str, caption: str) -> str:
    """The element alone, named for those who cannot see it; its ids differ from those of all others
    on the page."""
    body = svg[svg.index("<svg"):]
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r'(href="|url\()#', rf"\1#{name}-", body)
    body = re.sub(r' (?:xmlns:xlink|version)="[^"]*"', "", body).replace("xlink:href", "href")
    label = (f'<title id="{name}-title">{escape(title)}</title>'
             f'<desc id="{name}-desc">{escape(caption)}</desc>')
    return re.sub(r"<svg ([^>]*)>", rf'<svg role="img" aria-labelledby="{name}-title {name}-desc" '
                  rf"\1>{label}".replace("\\1", r"\g<1>"), body, count=1)


def _lead(comparison: Comparison) -> str:
    results = comparison.results
    rounds = sorted({group.rounds for group in comparison.groups})
    counted = str(rounds[0]) if len(rounds) == 1 else f"{rounds[0]} to {rounds[-1]}"
    rows = len({row.name for _, row in comparison.rows()})
    scale = [directory.plan["scale"] for directory in results.directories
             if directory.plan.get("scale")]
    lead = (f"{rows} rows in {len(comparison.groups)} group(s), {counted} counted rounds on "
            f"{', '.join(results.hosts)}, seed {results.seed}.")
    return f"{lead} Scale beside the published run: {scale[0]}." if scale else lead


def title_of(comparison: Comparison) -> str:
    plans = [directory.plan for directory in comparison.results.directories]
    return next((plan["title"] for plan in plans if plan.get("title")),
                f"heddle: {comparison.results.campaign}")


@dataclass
class Report:
    """Everything that is written below `out`, in the formats asked for."""

    comparison: Comparison
    out: Path
    formats: frozenset[str]
    written: list[Path] = field(default_factory=list)

    def write(self) -> None:
        """All of it; Problem when the disk does not take it."""
        try:
            self._write()
        except OSError as error:
            raise Problem(f"{error.filename or self.out}: {error.strerror}") from None

    def _write(self) -> None:
        histograms = Latencies(self.comparison)
        by_heading: dict[str, Section] = {}

        def section(heading: str) -> Section:
            return by_heading.setdefault(heading, Section(heading))
        found = content.all_tables(self.comparison, histograms)
        for heading, table in found:
            section(heading).tables.append(tables.html(table))
            self._table(table)
        if self.formats & {"html", "pdf", "svg"}:
            self._figures(section, histograms)
        if "html" in self.formats:
            order = sorted(by_heading.values(), key=lambda one: LATER.get(one.heading, 0))
            self._page(order)

    def _table(self, table: tables.Table) -> None:
        forms = {"latex": ("tex", tables.latex), "csv": ("csv", tables.csv_text),
                 "markdown": ("md", tables.markdown)}
        for name, (ending, render) in forms.items():
            if name in self.formats:
                self._save(f"tables/{table.name}.{ending}", render(table))

    def _figures(self, section, histograms: Latencies) -> None:
        from driver.analysis.figures import every  # pylint: disable=import-outside-toplevel
        for number, (heading, drawing) in enumerate(every.draw_all(self.comparison, histograms), 1):
            stem = every.slug(drawing.name)
            svg = svg_of(drawing.figure)
            if "svg" in self.formats:
                self._save(f"figures/{stem}.svg", svg)
            if "pdf" in self.formats:
                path = self._place(f"figures/{stem}.pdf")
                drawing.figure.savefig(path, format="pdf", metadata={"CreationDate": None})
                self.written.append(path)
            if "html" in self.formats:
                shown = inline(svg, f"f{number}", drawing.title, drawing.caption)
                section(heading).figures.append(
                    {"svg": shown, "title": drawing.title, "caption": drawing.caption})

    def _page(self, sections: list[Section]) -> None:
        import jinja2  # pylint: disable=import-outside-toplevel
        environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
        template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
        self._save("report.html", template.render(
            title=title_of(self.comparison), lead=_lead(self.comparison), sections=sections,
            limits=limits.limitations(self.comparison)))

    def _place(self, name: str) -> Path:
        path = self.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _save(self, name: str, text: str) -> None:
        path = self._place(name)
        path.write_text(text, encoding="utf-8")
        self.written.append(path)


def make(directories: list[Path], out: Path, formats: frozenset[str]) -> list[Path]:
    """Writes the report of these directories below `out`; returns the files."""
    if formats & {"html", "pdf", "svg"}:
        need_packages()
    report = Report(compare(load_all(directories)), out, formats)
    report.write()
    return report.written


def main(words: list[str]) -> int:
    """The program; every expected failure is one line."""
    parser = argparse.ArgumentParser(prog="driver.analysis.report", allow_abbrev=False)
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--out", type=Path)
    for name in FORMATS:
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args(words)
    formats = frozenset(name for name in FORMATS if getattr(options, name)) or frozenset(FORMATS)
    out = options.out or options.directories[0] / "report"
    try:
        written = make(options.directories, out, formats)
    except Problem as problem:
        say(f"heddle: {problem}")
        return problem.exit_code
    page = out / "report.html"
    if page in written:
        print(f"report: {page}")
    others = len(written) - (page in written)
    if others:
        print(f"{others} figures and tables: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
