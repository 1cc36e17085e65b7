"""`./heddle doctor`: is this machine fit to measure on, and what would make it so."""
from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from driver.commands.parser import Parser
from driver.lab import limits, processors, programs
from driver.lab.findings import FIT, NOT_FIT, Finding, System

SCHEMA = "heddle-doctor-1"
ROOT = Path(__file__).resolve().parents[2]


def examine(root: Path = ROOT, system: System | None = None) -> list[Finding]:
    """Every finding about this machine and the build below `root`; takes about a second."""
    system = system or System()
    build = root / "build"
    return [*processors.all_findings(system), *limits.all_findings(system, root),
            *programs.load_programs(build), *programs.report_modules(), *programs.peers(build)]


def table(found: list[Finding]) -> str:
    """One line a finding, the areas apart; the last line counts what is not fit."""
    name_width = max(len(finding.name) for finding in found)
    lines, area = [], ""
    for finding in found:
        if finding.area != area:
            area = finding.area
            lines += ["", area] if lines else [area]
        line = f"  {finding.verdict:<7}  {finding.name:<{name_width}}  {finding.value}"
        lines.append(f"{line}; {finding.advice}" if finding.advice else line)
    bad = sum(finding.verdict == NOT_FIT for finding in found)
    good = sum(finding.verdict == FIT for finding in found)
    return "\n".join([*lines, "", f"{good} fit, {bad} not fit, "
                                  f"{len(found) - good - bad} not available"])


def as_json(found: list[Finding]) -> str:
    """One object: schema, `fit` (nothing is unfit), and the findings."""
    return json.dumps({"schema": SCHEMA,
                       "fit": all(finding.verdict != NOT_FIT for finding in found),
                       "findings": [asdict(finding) for finding in found]},
                      indent=2, ensure_ascii=False)


def command_doctor(words: list[str]) -> int:
    """`./heddle doctor [--json]`; ends with 0 whatever it finds, since a machine that is not fit
    for one comparison may do for another."""
    parser = Parser("doctor", "What is fit to measure on, what is not, and what to do about it.")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse(words)
    found = examine()
    print(as_json(found) if options.json else table(found))
    return 0
