"""The end of a run: the page of the analysis, written by a process of its own."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from driver.console import say
from driver.meson import tool

REPORT_TIMEOUT_S = 600
ROOT = Path(__file__).resolve().parents[2]


def page_of(directory: Path) -> Path | None:
    """Writes the HTML report of a results directory; None, after saying why, when that failed."""
    path = directory / "report" / "report.html"
    try:
        # A process of its own: it needs Debian's matplotlib, which this python may lack.
        done = subprocess.run(
            [tool("python3"), "-m", "driver.analysis.report", str(directory), "--html"],
            cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=REPORT_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        say(f"heddle: the HTML report took more than {REPORT_TIMEOUT_S} s; "
            f"./heddle report {directory} writes it")
        return None
    if done.returncode or not path.is_file():
        said = (done.stderr or done.stdout).strip().splitlines()
        say(f"heddle: no HTML report: {said[-1] if said else 'it failed'}")
        return None
    sys.stderr.write(done.stderr)
    return path
