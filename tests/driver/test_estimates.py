"""Ratios on fixed numbers; the table and the page made of them."""
import re
import unittest
import xml.etree.ElementTree as ElementTree

import support  # noqa: F401  (sets the import path)
from driver import estimates, report


def cell(row: str, number: int, cpu_us: float, rps: float, **more) -> dict:
    return {"row": row, "round": number, "ok": True, "server_cpu_us_per_request": cpu_us,
            "throughput_rps": rps, "note": "", "failure": "", **more}


def failed(row: str, number: int, why: str) -> dict:
    return {"row": row, "round": number, "ok": False, "failure": why, "note": ""}


RECORDS = [cell("ref", 1, 10, 1000), cell("ref", 2, 20, 500), cell("ref", 3, 10, 1000),
           cell("ref'", 1, 11, 1010), cell("ref'", 2, 19, 500), cell("ref'", 3, 10, 1000),
           cell("fast", 1, 8, 1200, timeout_errors=2), cell("fast", 2, 10, 750),
           cell("fast", 3, 9, 900),
           failed("broken", 1, "exit status 1"), failed("broken", 2, "exit status 1"),
           cell("<late>", 3, 30, 100, note="1 process(es) needed SIGKILL")]


class Summaries(unittest.TestCase):
    def setUp(self):
        self.found = {summary.row: summary for summary in estimates.summarize(RECORDS, "ref")}

    def test_ratios_are_paired_inside_a_round(self):
        fast = self.found["fast"]
        self.assertEqual(fast.cpu_ratios, [0.8, 0.5, 0.9])
        self.assertEqual((fast.cpu_ratio.median, fast.throughput_ratio.median), (0.8, 1.2))
        self.assertEqual((fast.cpu_us_per_request, fast.throughput_rps), (9, 900))

    def test_a_round_without_reference_gives_no_ratio_but_keeps_the_absolute(self):
        found = {s.row: s for s in estimates.summarize(
            [failed("ref", 1, "died"), cell("fast", 1, 8, 1200)], "ref")}
        self.assertIsNone(found["fast"].cpu_ratio)
        self.assertEqual(found["fast"].cpu_us_per_request, 8)

    def test_the_cheapest_comes_first_and_failures_last(self):
        self.assertEqual(list(self.found), ["fast", "ref", "ref'", "<late>", "broken"])

    def test_errors_are_counted_and_named(self):
        self.assertEqual(self.found["fast"].errors_text(), "2 socket errors")
        self.assertEqual(self.found["broken"].errors_text(), "2 of 2 cells failed: exit status 1")
        self.assertIn("SIGKILL", self.found["<late>"].errors_text())


class Reports(unittest.TestCase):
    def setUp(self):
        self.summaries = estimates.summarize(RECORDS, "ref")
        self.again = next(summary for summary in self.summaries if summary.row == "ref'")

    def test_the_table_has_a_line_for_every_row(self):
        lines = report.text_table(self.summaries).splitlines()
        self.assertEqual(len(lines), 6)
        self.assertRegex(lines[1], r"^fast +0\.800 \[0\.500, 0\.900\] +1\.200")
        self.assertRegex(lines[5], r"^broken +- +- +- +- +0  2 of 2 cells failed")

    def test_the_noise_line_is_the_reference_against_itself(self):
        self.assertIn("CPU/request 1.000 [0.950, 1.100]", report.noise_line(self.again))
        self.assertIn("not measured", report.noise_line(None))

    def test_the_page_stands_alone_and_escapes_names(self):
        page = report.page("t", self.summaries, self.again, {"kernel": "L & M", "commit": None},
                           ["note"], report.limitations(2, 4))
        self.assertNotRegex(page, r"(?:src|href)=|https?://|<script|<late>|\bnan\b")
        self.assertIn("&lt;late&gt;", page)
        self.assertIn("shared cores: not a scaling result", page)
        picture = re.search(r"<svg.*</svg>", page, re.DOTALL).group(0)
        ElementTree.fromstring(picture)
        self.assertEqual(picture.count('r="4"'), 4)

    def test_no_ratio_at_all_still_makes_a_page(self):
        alone = estimates.summarize([failed("broken", 1, "exit status 1")], "ref")
        page = report.page("t", alone, None, {}, [], report.limitations(64, 4))
        self.assertIn("No row has a ratio", page)
        self.assertNotIn("shared cores", page)

    def test_brackets_are_named_after_what_they_are(self):
        self.assertIn("less than 95 %", report.interval_note(3))
        self.assertIn("95 % bootstrap", report.interval_note(7))


if __name__ == "__main__":
    unittest.main()
