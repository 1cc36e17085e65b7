"""`./heddle test`: run suites in one or more builds; close with the true counts of cases."""
from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from driver import testlog
from driver.console import EXIT_INTERRUPTED, UsageProblem, say
from driver.meson import BuildDirectory, tool
from driver.testlog import FAILED, PASSED, SKIPPED, Case, Program

LOG_LINES = 30


def check_suites(build: BuildDirectory, suites: list[str]) -> None:
    """UsageProblem when a suite is asked for that no test belongs to."""
    known = {suite.rsplit(":", 1)[-1] for test in build.tests() for suite in test["suite"]}
    for suite in suites:
        if suite.rsplit(":", 1)[-1] not in known:
            allowed = ", ".join(sorted(known)) or "none, this tree has no tests"
            raise UsageProblem(f"no suite '{suite}'; allowed: {allowed}")


def run_suites(build: BuildDirectory, suites: list[str], extra: list[str]
               ) -> tuple[list[Case], list[Program], bool]:
    """Run meson's tests in `build`; returns cases, programs, and whether Ctrl-C ended it early."""
    testlog.forget(build.path, build.tests())
    command = [tool("meson"), "test", "-C", str(build.path), "--no-rebuild"]
    for suite in suites:
        command += ["--suite", suite]
    if not suites:
        command += ["--no-suite", "long"]
    sys.stdout.flush()
    with subprocess.Popen([*command, *extra], cwd=build.root, stdin=subprocess.DEVNULL) as process:
        interrupted = False
        while True:
            try:
                returncode = process.wait()
                break
            except KeyboardInterrupt:
                # meson got the same signal; it stops its tests and writes its logs.
                interrupted = True
    cases, programs = testlog.read(build.path, returncode)
    return cases, programs, interrupted


def _tail(text: str) -> str:
    lines = text.rstrip().splitlines()
    cut = [f"... {len(lines) - LOG_LINES} lines before"] if len(lines) > LOG_LINES else []
    return "\n".join("    " + line for line in cut + lines[-LOG_LINES:])


def report(cases: list[Case], programs: list[Program]) -> str:
    """Skips grouped by reason, then failures by name with the end of each failing program's log."""
    lines: list[str] = []
    reasons: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        if case.outcome == SKIPPED:
            reasons[case.reason or "no reason given"].append(case.full_name)
    for reason, names in reasons.items():
        lines.append(f"skipped ({reason}): {', '.join(names)}")
    failing: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        if case.outcome == FAILED:
            failing[case.program].append(case)
    for program, failed in failing.items():
        records = [record for record in programs
                   if record.name == program and record.result in testlog.BAD]
        for case in failed:
            lines.append(f"FAILED {case.full_name}")
            if case.name or not records:
                lines += [f"    {line}" for line in case.reason.splitlines()[:12]]
        for record in records:
            how = testlog.describe(record)
            lines.append(f"  {testlog.short(program)}: {how}; end of its log:")
            lines.append(_tail(record.output) or "    (no output)")
    return "\n".join(lines)


def counts(cases: list[Case]) -> str:
    """The closing line."""
    number = {outcome: sum(case.outcome == outcome for case in cases)
              for outcome in (PASSED, FAILED, SKIPPED)}
    return f"{number[PASSED]} passed, {number[FAILED]} failed, {number[SKIPPED]} skipped"


def run_all(builds: list[BuildDirectory], suites: list[str], extra: list[str],
            junit: Path | None) -> int:
    """Run every build's suites; the last line of stdout is the total. Returns the exit code."""
    everything: list[Case] = []
    interrupted = False
    for build in builds:
        cases, programs, interrupted = run_suites(build, suites, extra)
        text = report(cases, programs)
        if text:
            print(text)
        if len(builds) > 1:
            print(f"{build.path.name}: {counts(cases)}", flush=True)
        everything += cases
        if interrupted:
            break
    if junit:
        testlog.write_junit(junit, everything)
    if interrupted:
        say("heddle: interrupted: tests that had not ended are not counted")
    ran = sum(case.outcome != SKIPPED for case in everything)
    if not ran:
        say("heddle: nothing ran" + (": every test was skipped" if everything else ""))
    print(counts(everything), flush=True)
    if interrupted:
        return EXIT_INTERRUPTED
    return 1 if not ran or any(case.outcome == FAILED for case in everything) else 0
