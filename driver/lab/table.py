"""The end of a run: the analysis' table, or the driver's own where that is not there."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from driver import environment, estimates, report
from driver.console import say
from driver.estimates import Summary
from driver.lab.cells import AGAIN
from driver.lab.plan import Plan
from driver.meson import tool

REPORT_TIMEOUT_S = 600


def text(directory: Path, plan: Plan, records: list[dict], facts: dict) -> str:
    """The table for the terminal, without what is common to all ends."""
    try:
        from driver import analysis  # pylint: disable=import-outside-toplevel
        make = analysis.terminal
    except (ImportError, AttributeError):
        return _own_text(plan, records, facts)
    return make(directory)


def page(directory: Path, plan: Plan, records: list[dict], facts: dict) -> Path | None:
    """Writes the HTML report; None, after saying why, when that failed."""
    root = Path(__file__).resolve().parents[2]
    if not (root / "driver" / "analysis" / "report.py").is_file():
        return _own_pages(directory, plan, records, facts)
    # In a process of its own: it needs Debian's pandas and matplotlib, which this python may lack.
    path = directory / "report" / "report.html"
    try:
        done = subprocess.run(
            [tool("python3"), "-m", "driver.analysis.report", str(directory), "--html"],
            cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
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


def _own_text(plan: Plan, records: list[dict], facts: dict) -> str:
    lines = []
    for group, summaries in _summaries(plan, records).items():
        lines += [group, report.text_table(summaries), "", *_notes(summaries),
                  report.noise_line(_again(summaries)), ""]
    limits = report.limitations(facts["cores_usable"], environment.FEW_CORES)
    return "\n".join([*lines, *reversed(limits)])


def _own_pages(directory: Path, plan: Plan, records: list[dict], facts: dict
               ) -> Path | None:
    """One page a group; the first is report.html, and its path is returned, if there is any."""
    limits = report.limitations(facts["cores_usable"], environment.FEW_CORES)
    paths = []
    for group, summaries in _summaries(plan, records).items():
        name = f"report-{len(paths) + 1}.html" if paths else "report.html"
        paths.append(directory / name)
        paths[-1].write_text(report.page(f"heddle bench: {plan.campaign}, {group}", summaries,
                                         _again(summaries), facts, _notes(summaries), limits),
                             encoding="utf-8")
    return paths[0] if paths else None


def _again(summaries: list[Summary]) -> Summary | None:
    return next((one for one in summaries if one.row.endswith(AGAIN)), None)


def _notes(summaries: list[Summary]) -> list[str]:
    done = max((one.cpu_ratio.rounds for one in summaries if one.cpu_ratio), default=0)
    return [report.interval_note(done), "ratios are to the reference in the same round"]


def _summaries(plan: Plan, records: list[dict]) -> dict[str, list[Summary]]:
    """By group, of servers' records that are no warm-up."""
    groups: dict[str, list[dict]] = {}
    for record in records:
        if not record["warmup"] and record["value"] is None:
            groups.setdefault(record["group"], []).append(_flat(record))
    found = {}
    for group, flat in groups.items():
        reference = next((one["row"] for one in flat if one["reference"] == "A"), "")
        found[group] = estimates.summarize(flat, reference, plan.seed)
    return found


def _flat(record: dict) -> dict:
    """A record as estimates.summarize knows it."""
    server = record["server"] or {}
    errors = {f"{kind}_errors": record["errors"].get(kind, 0)
              for kind in ("connect", "read", "write", "timeout")}
    return {**record, **errors, "kind": record["sharing"], "note": "; ".join(record["notes"]),
            "server_cpu_us_per_request": server.get("cpu_us_per_request")}
