"""The counting of test cases from the logs that meson 1.0.1 writes, with its gaps."""
import json
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import support
from driver import testlog, testrun
from driver.testlog import FAILED, SKIPPED

GTEST = """<testsuite name="heddle.heddle:unit / queues.locking" tests="4">
  <testcase name="ok" status="run" classname="locking"/>
  <testcase name="bad" status="run" classname="locking">
    <failure message="q.cpp:7&#10;1 vs 2"/></testcase>
  <testcase name="DISABLED_later" status="notrun" classname="locking"/>
  <testcase name="ring" status="run" classname="locking">
    <skipped message="q.cpp:9&#10;needs io_uring"/></testcase></testsuite>"""
TAP = """<testsuite name="heddle.heddle:unit / tidy">
  <testcase name="1 sizes" classname="heddle.heddle:unit / tidy"/>
  <testcase name="2 order" classname="heddle.heddle:unit / tidy"><skipped/>
    <system-out>no clang</system-out></testcase></testsuite>"""


def whole(name: str, inner: str = "") -> str:
    return f'<testcase name="heddle:unit / {name}" classname="heddle">{inner}</testcase>'


def record(name: str, result: str, returncode: int = 0, stdout: str = "") -> dict:
    return {"name": f"heddle:unit / {name}", "result": result, "returncode": returncode,
            "stdout": stdout}


class Counting(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.build = Path(scratch.name)
        (self.build / "meson-logs").mkdir()

    def read(self, records, junit=None, returncode=0):
        logs = self.build / "meson-logs"
        logs.joinpath("testlog.json").write_text(
            "".join(json.dumps(entry) + "\n" for entry in records), encoding="utf-8")
        if junit is not None:
            logs.joinpath("testlog.junit.xml").write_text(
                f"<testsuites>{junit}</testsuites>", encoding="utf-8")
        self.cases, self.programs = testlog.read(self.build, returncode)
        return testrun.counts(self.cases)

    def failed(self):
        return [case.full_name for case in self.cases if case.outcome == FAILED]

    def test_each_gtest_case_counts_once(self):
        line = self.read([record("queues", "FAIL", 1)], GTEST, 1)
        self.assertEqual(line, "1 passed, 1 failed, 2 skipped")
        self.assertEqual(self.failed(), ["queues: locking.bad"])

    def test_skips_have_their_reasons(self):
        self.read([record("queues", "FAIL", 1), record("tidy", "OK")], GTEST + TAP, 1)
        reasons = [case.reason for case in self.cases if case.outcome == SKIPPED]
        self.assertEqual(reasons, ["disabled", "needs io_uring", "no clang"])

    def test_a_crash_without_cases_counts_one_failure(self):
        junit = '<testsuite name="heddle">' + whole("queues", "<failure/>") + "</testsuite>"
        line = self.read([record("queues", "FAIL", -11, "last words")], junit, 1)
        self.assertEqual(line, "0 passed, 1 failed, 0 skipped")
        text = testrun.report(self.cases, self.programs)
        self.assertIn("FAILED queues\n  queues: killed by signal 11", text)
        self.assertIn("last words", text)

    def test_a_crash_after_good_cases_counts_one_failure(self):
        line = self.read([record("tidy", "ERROR", -6)], TAP, 1)
        self.assertEqual(line, "1 passed, 1 failed, 1 skipped")

    def test_a_timeout_that_junit_does_not_mark_is_a_failure(self):
        junit = '<testsuite name="heddle">' + whole("slow") + whole("quick") + "</testsuite>"
        line = self.read([record("slow", "TIMEOUT", -15), record("quick", "OK")], junit, 1)
        self.assertEqual((line, self.failed()), ("1 passed, 1 failed, 0 skipped", ["slow"]))

    def test_a_skipped_program_gives_its_last_line_as_reason(self):
        junit = '<testsuite name="heddle">' + whole("ring", "<skipped/>") + "</testsuite>"
        line = self.read([record("ring", "SKIP", 77, "checking\nno io_uring here\n")], junit)
        self.assertEqual(line, "0 passed, 0 failed, 1 skipped")
        self.assertEqual(self.cases[0].reason, "no io_uring here")

    def test_an_expected_failure_passes_and_an_unexpected_pass_fails(self):
        junit = '<testsuite name="heddle">' + whole("no") + whole("yes") + "</testsuite>"
        records = [record("no", "EXPECTEDFAIL", 1), record("yes", "UNEXPECTEDPASS")]
        line = self.read(records, junit, 1)
        self.assertEqual((line, self.failed()), ("1 passed, 1 failed, 0 skipped", ["yes"]))

    def test_a_gtest_program_without_cases_counts_nothing(self):
        self.assertEqual(self.read([record("empty", "OK")], ""), "0 passed, 0 failed, 0 skipped")

    def test_a_program_name_with_dots_finds_its_own_cases(self):
        junit = GTEST.replace("queues.locking", "queues.small.locking")
        self.read([record("queues", "OK"), record("queues.small", "FAIL", 1)], junit, 1)
        self.assertEqual(self.failed(), ["queues.small: locking.bad"])

    def test_control_characters_in_a_log_do_not_hide_the_cases(self):
        junit = GTEST.replace("1 vs 2", "\x1b[31m1 vs 2\x01")
        self.assertEqual(self.read([record("queues", "FAIL", 1)], junit, 1),
                         "1 passed, 1 failed, 2 skipped")

    def test_meson_that_fails_without_logs_is_a_failure(self):
        self.assertEqual(self.read([], None, 2), "0 passed, 1 failed, 0 skipped")

    def test_stale_results_are_forgotten(self):
        stale = self.build / "queues.xml"
        stale.touch()
        self.read([record("queues", "OK")], GTEST)
        testlog.forget(self.build, [{"name": "queues", "protocol": "gtest", "workdir": None}])
        self.assertFalse(stale.exists())
        self.assertEqual(list((self.build / "meson-logs").iterdir()), [])

    def test_junit_of_our_own_has_the_numbers_of_the_last_line(self):
        self.read([record("queues", "FAIL", 1), record("tidy", "ERROR", -6)], GTEST + TAP, 1)
        path = self.build / "out.xml"
        testlog.write_junit(path, self.cases)
        root = ElementTree.parse(path).getroot()
        numbers = [root.get(key) for key in ("tests", "failures", "skipped")]
        self.assertEqual(numbers, ["7", "2", "3"])


class ClosingLine(unittest.TestCase):
    def run_all(self, cases):
        original, testrun.run_suites = testrun.run_suites, lambda *_: (cases, [], False)
        self.addCleanup(setattr, testrun, "run_suites", original)
        with support.captured() as (out, err):
            code = testrun.run_all([None], [], [], None)
        return code, out.getvalue().splitlines()[-1], err.getvalue()

    def test_nothing_ran_is_a_failure_that_is_told(self):
        code, line, err = self.run_all([])
        self.assertEqual((code, line), (1, "0 passed, 0 failed, 0 skipped"))
        self.assertIn("nothing ran", err)

    def test_only_skips_is_not_a_success(self):
        self.assertEqual(self.run_all([testlog.Case("a", "", SKIPPED, "why")])[0], 1)

    def test_all_passed_is_a_success(self):
        self.assertEqual(self.run_all([testlog.Case("a", "", testlog.PASSED)])[:2],
                         (0, "1 passed, 0 failed, 0 skipped"))


if __name__ == "__main__":
    unittest.main()
