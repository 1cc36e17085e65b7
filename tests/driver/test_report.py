"""The report: golden figures, one page that stands alone, LaTeX that compiles.

HEDDLE_UPDATE_GOLDEN=1 writes the golden figures anew; look at them before committing.
"""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import support
from data import synthetic
from driver.analysis import report
from driver.analysis.comparison import compare
from driver.analysis.detail_tables import Latencies
from driver.analysis.records import load_all

GOLDEN = Path(__file__).parent / "data" / "golden"
MISSING = report.missing_packages()
DOTS = 50  # of a golden picture to the inch


def few(cell):
    """A sweep of two loads with two schedulers on one poller, and the queues alone."""
    if cell["kind"] == "queue":
        return True
    load = any(word in cell["group"] for word in ("16 conn", "256 conn", "10000", "40000"))
    return load and (cell["row"].startswith(("raw-epoll", "go", "broken")) or (
        cell["poller"] == "epoll" and cell["queue"] in ("locking", "simple-mpmc")))


@unittest.skipIf(MISSING, f"needs {', '.join(MISSING)}")
class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from driver.analysis.figures import every
        scratch = tempfile.TemporaryDirectory(prefix="heddle report ")
        cls.addClassCleanup(scratch.cleanup)
        cls.place = Path(scratch.name)
        cls.data = synthetic.write(cls.place / "data", rounds=6, keep=few)
        comparison = compare(load_all([cls.data]))
        cls.drawings = {every.slug(drawing.name): drawing for _, drawing in
                        every.draw_all(comparison, Latencies(comparison))}
        cls.report = report.Report(comparison, cls.place / "out",
                                   frozenset(("html", "latex", "csv", "markdown")))
        cls.report.write()

    def test_every_kind_of_figure_is_there(self):
        kinds = {name.split("-hello")[0].split("-1-")[0].split("-pairwise")[0]
                 for name in self.drawings}
        self.assertEqual(kinds, {
            "published-async-bench", "connections", "load", "throughput-rps-ratio",
            "cpu-us-per-request-ratio", "matrix", "ccdf", "cost", "switches", "calls", "counters",
            "ratio", "value"})

    def test_figures_are_the_golden_ones(self):
        import matplotlib.image
        import numpy
        if support.updates_golden():
            for old in GOLDEN.glob("*.png"):
                old.unlink()
        wanted = {path.stem for path in GOLDEN.glob("*.png")}
        shown = {}
        for name, drawing in self.drawings.items():
            kind = name.split("-hello")[0].split("-1-")[0]
            shown.setdefault(kind, (name, drawing))
        for name, drawing in shown.values():
            with self.subTest(name):
                golden, new = GOLDEN / f"{name}.png", self.place / f"{name}.png"
                drawing.figure.savefig(new, dpi=DOTS)
                if support.updates_golden():
                    shutil.copy(new, golden)
                    continue
                wanted.discard(name)
                one, other = (matplotlib.image.imread(path)[..., :3] for path in (golden, new))
                self.assertEqual(one.shape, other.shape)
                self.assertLess(float(numpy.sqrt(numpy.mean((one - other) ** 2))), 0.02)
        self.assertFalse(wanted, "golden figures that are drawn no more")

    def test_the_same_figure_gives_the_same_svg_and_embeds_its_fonts(self):
        name = next(name for name in self.drawings if name.startswith("throughput-rps-ratio"))
        drawing = self.drawings[name]
        first = report.svg_of(drawing.figure)
        self.assertEqual(first, report.svg_of(drawing.figure))
        self.assertNotRegex(first, r"<text|<dc:date>|@font-face")
        width_pt = float(re.search(r'width="([\d.]+)pt"', first).group(1))
        self.assertAlmostEqual(width_pt, 3.33 * 72, 1)
        path = self.place / "figure.pdf"
        drawing.figure.savefig(path, metadata={"CreationDate": None})
        content = path.read_bytes()
        self.assertIn(b"/FontFile2", content)
        self.assertNotIn(b"/Type3", content)

    def test_captions_tell_n_interval_host_and_commit(self):
        for name, drawing in self.drawings.items():
            self.assertRegex(drawing.caption, r"n = 6 rounds; intervals: 95 %.*; host synthetic; "
                             r"commit 0{12}\.$", name)

    def test_the_page_stands_alone_and_names_its_pictures(self):
        page = (self.place / "out" / "report.html").read_text(encoding="utf-8")
        links = re.findall(r'(?:src|href)="([^"]*)"', page)
        self.assertTrue(all(link.startswith(("#", "data:")) for link in links))
        self.assertNotRegex(page, r"@import|<script|url\((?!#)|>nan<")
        for text in ("shared cores: not a scaling result", "hardware counters: N/A: no PMU",
                     "unavailable: needs python3-trio", "answered 404 bytes that differ"):
            self.assertIn(text, page)
        ids = re.findall(r'\bid="([^"]+)"', page)
        self.assertEqual(len(ids), len(set(ids)))
        self.assertTrue(set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', page)) <= {
            pair for one in ids for pair in ((one, ""), ("", one))})
        pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
        self.assertEqual(len(pictures), len(self.drawings))
        for picture in pictures:
            title = ElementTree.fromstring(picture).find("{http://www.w3.org/2000/svg}title")
            self.assertTrue(title.text)

    def test_a_browser_shows_it_without_complaint_at_both_widths(self):
        browser = shutil.which("chromium")
        if browser is None:
            self.skipTest("needs chromium")
        page = self.place / "out" / "report.html"
        for width in (1280, 390):
            probe = self.place / f"probe-{width}.html"
            script = ("<script>addEventListener('load', () => {const page = document.documentElement;"
                      "page.dataset.wide = page.scrollWidth - innerWidth})</script></body>")
            probe.write_text(page.read_text("utf-8").replace("</body>", script), encoding="utf-8")
            done = subprocess.run(
                [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                 f"--user-data-dir={self.place / 'profile'}", f"--window-size={width},900",
                 "--dump-dom", probe.as_uri()],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
            self.assertNotIn("CONSOLE", done.stderr)
            overhang = re.search(r'data-wide="(-?\d+)"', done.stdout)
            self.assertIsNotNone(overhang, done.stderr[-500:])
            self.assertLessEqual(int(overhang.group(1)), 0, f"scrolls sideways at {width} px")

    def test_latex_tables_compile(self):
        program = shutil.which("pdflatex")
        if program is None:
            self.skipTest("needs texlive-latex-recommended")
        tables = sorted((self.place / "out" / "tables").glob("*.tex"))
        self.assertGreater(len(tables), 7)
        body = "\n".join(f"\\input{{{path.name}}}\\clearpage" for path in tables)
        text = ("\\documentclass[twocolumn]{article}\\usepackage[T1]{fontenc}\\usepackage{textcomp}"
                f"\\usepackage{{booktabs,graphicx}}\\begin{{document}}{body}\\end{{document}}")
        (tables[0].parent / "all.tex").write_text(text, encoding="utf-8")
        done = subprocess.run([program, "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
                              cwd=tables[0].parent, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-1500:])


class Command(unittest.TestCase):
    def test_without_its_packages_it_names_them_in_one_line(self):
        with tempfile.TemporaryDirectory() as place:
            data = synthetic.write(Path(place) / "data", rounds=1,
                                   keep=lambda cell: cell["kind"] == "queue")
            hidden = Path(place) / "hidden"
            hidden.mkdir()
            for name in report.PACKAGES:
                (hidden / f"{name}.py").write_text("raise ImportError\n", encoding="utf-8")
            done = subprocess.run(
                [sys.executable, "-m", "driver.analysis.report", str(data), "--html"],
                env={"PYTHONPATH": f"{hidden}:{support.ROOT}", "PATH": "/usr/bin:/bin"},
                cwd=support.ROOT, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertIn("python3-matplotlib python3-jinja2", done.stderr)

    def test_a_place_without_results_is_one_line(self):
        done = subprocess.run([sys.executable, "-m", "driver.analysis.report", "/nowhere"],
                              cwd=support.ROOT, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1))


if __name__ == "__main__":
    unittest.main()
