"""True counts of test cases from what `meson test` (1.0.1) leaves behind.

testlog.junit.xml has the cases, testlog.json one verdict per program. Both are needed: meson's
JUnit file has no failure for a program that timed out, none for a gtest program that fails outside
its cases, and none for a TAP program that dies after its last `ok`. So each program with a bad
verdict counts at least one failure here. A gtest program that crashes writes no XML, and meson
would read the file of the run before: `forget` removes those first.
"""
from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

BAD = {"FAIL", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS", "ERROR"}
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class Case:
    """One test case: the program as meson's logs call it (`PROJECT:SUITE / TEST`), the case's own
    name (empty when the program is the case), what came of it and why."""

    program: str
    name: str
    outcome: str
    reason: str = ""

    @property
    def full_name(self) -> str:
        return f"{short(self.program)}: {self.name}" if self.name else short(self.program)


@dataclass
class Program:
    """One record of testlog.json: a test program's verdict and its output."""

    name: str
    result: str
    returncode: int | None
    output: str


def short(program: str) -> str:
    """meson's test name without the suites in front of it."""
    return program.rsplit(" / ", 1)[-1]


def forget(build: Path, tests: list[dict]) -> None:
    """Remove the logs of earlier runs, so that nothing stale can be counted."""
    for log in (build / "meson-logs").glob("testlog*"):
        log.unlink(missing_ok=True)
    for test in tests:
        if test.get("protocol") == "gtest":
            (build / (test.get("workdir") or "") / f"{test['name']}.xml").unlink(missing_ok=True)


def _one_log(build: Path, pattern: str) -> str | None:
    """The newest log of that name (a meson wrapper or setup changes the name), or None."""
    logs = sorted((build / "meson-logs").glob(pattern), key=lambda path: path.stat().st_mtime_ns)
    return logs[-1].read_text(encoding="utf-8", errors="replace") if logs else None


def read_programs(text: str) -> list[Program]:
    """Programs in the order in which they ended; a cut last line (a kill) is left out."""
    programs = []
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        output = record.get("stdout", "") + record.get("stderr", "")
        programs.append(
            Program(record["name"], record["result"], record.get("returncode"), output))
    return programs


def _outcome(element: ElementTree.Element) -> tuple[str, str]:
    for tag in ("failure", "error"):
        found = element.find(tag)
        if found is not None:
            return FAILED, (found.get("message") or found.text or "").strip()
    skipped = element.find("skipped")
    if skipped is not None:
        # gtest puts FILE:LINE on the first line, the reason of GTEST_SKIP() below it.
        message = (skipped.get("message") or skipped.text or "").strip()
        if not message:
            message = element.findtext("system-out", "").strip()
        return SKIPPED, message.split("\n", 1)[-1].strip()
    if element.get("status") == "notrun":
        return SKIPPED, "disabled"
    return PASSED, ""


def _program_of(suite: str, names: set[str]) -> str | None:
    """The program in `PROJECT.PROGRAM` (TAP) or `PROJECT.PROGRAM.SUITE` (gtest), the longest that
    fits; None for `PROJECT`, where each case is a whole program."""
    rest = suite.partition(".")[2]
    fitting = [name for name in names if rest == name or rest.startswith(name + ".")]
    return max(fitting, key=len, default=None)


def read_cases(junit: str, programs: list[Program]) -> list[Case]:
    """The cases of the JUnit text, corrected by the programs' verdicts."""
    by_name: dict[str, list[Program]] = defaultdict(list)
    for program in programs:
        by_name[program.name].append(program)
    cases: list[Case] = []
    whole: set[str] = set()
    for suite in ElementTree.fromstring(_NOT_XML.sub("?", junit)).iter("testsuite"):
        label = suite.get("name", "")
        for element in suite.findall("testcase"):
            name = element.get("name", "")
            program = _program_of(label, set(by_name))
            if program is None:
                whole.add(name)  # one verdict for the whole program: counted from testlog.json
                continue
            outcome, reason = _outcome(element)
            # A TAP case has its suite as class; a gtest case has the gtest suite.
            group = element.get("classname", "")
            own = name if group in ("", label) else f"{group}.{name}"
            cases.append(Case(program, own, outcome, reason))
    return _with_verdicts(cases, by_name, whole)


def _with_verdicts(cases: list[Case], by_name: dict[str, list[Program]], whole: set[str]
                   ) -> list[Case]:
    """Add what only the verdict knows: crashes, timeouts, expected failures, and the one case of
    each program in `whole`."""
    inside: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        inside[case.program].append(case)
    result = list(cases)
    for name, programs in by_name.items():
        for program in programs:
            if program.result == "EXPECTEDFAIL":
                for case in inside[name]:
                    case.outcome = PASSED if case.outcome == FAILED else case.outcome
            if program.result in BAD:
                if not any(case.outcome == FAILED for case in inside[name]):
                    result.append(Case(name, "", FAILED, describe(program)))
            elif name in whole:
                skipped = program.result == "SKIP"
                reason = _last_line(program.output) or "exit status 77" if skipped else ""
                result.append(Case(name, "", SKIPPED if skipped else PASSED, reason))
    return result


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def describe(program: Program) -> str:
    """How the program itself ended, in a few words."""
    code = program.returncode
    if program.result == "TIMEOUT":
        return "timed out"
    if program.result == "UNEXPECTEDPASS":
        return "passed, but is expected to fail"
    if code is not None and code < 0:
        return f"killed by signal {-code}"
    if code is not None and code > 128:
        return f"killed by signal {code - 128} (exit status {code})"
    return f"{program.result.lower()}, exit status {code}"


def read(build: Path, returncode: int) -> tuple[list[Case], list[Program]]:
    """Cases and programs of the run that just ended with `returncode`.

    No log at all with success means that nothing was selected; with failure, that meson failed.
    """
    junit, records = _one_log(build, "*.junit.xml"), _one_log(build, "testlog*.json")
    programs = read_programs(records or "")
    if junit is not None:
        try:
            cases = read_cases(junit, programs)
        except ElementTree.ParseError as error:
            cases = [Case("meson test", "", FAILED, f"testlog.junit.xml cannot be read: {error}")]
    else:
        by_name = {program.name: [program] for program in programs}
        cases = _with_verdicts([], by_name, set(by_name))
    if returncode and not any(case.outcome == FAILED for case in cases):
        cases.append(Case("meson test", "", FAILED, f"ended with status {returncode}"))
    return cases, programs


def write_junit(path: Path, cases: list[Case]) -> None:
    """The counted cases as JUnit XML, so that a CI page shows the numbers of the last line."""
    root = ElementTree.Element("testsuites")
    suites: dict[str, ElementTree.Element] = {}
    for case in cases:
        if case.program not in suites:
            suites[case.program] = ElementTree.SubElement(root, "testsuite", name=case.program)
        element = ElementTree.SubElement(suites[case.program], "testcase", classname=case.program,
                                         name=_NOT_XML.sub("?", case.name or case.program))
        if case.outcome != PASSED:
            tag = "failure" if case.outcome == FAILED else "skipped"
            ElementTree.SubElement(element, tag, message=_NOT_XML.sub("?", case.reason))
    for element in [root, *suites.values()]:
        found = list(element.iter("testcase"))
        element.set("tests", str(len(found)))
        element.set("failures", str(sum(case.find("failure") is not None for case in found)))
        element.set("skipped", str(sum(case.find("skipped") is not None for case in found)))
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
