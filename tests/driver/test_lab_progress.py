"""Progress read from records: what is next, what is repeated, when a run is over. No processes."""
import json
import math
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

import support
from driver.console import Problem, UsageProblem
from driver.lab import journal, plan as plans, progress, schema, status
from driver.lab.campaign import Noise
from driver.lab.journal import Journal
from driver.lab.plan import Block, order_of
from driver.lab.progress import Progress
from driver.lab.runner import Result
from lab_support import cell, plan, references

QUIET = {"steal_percent": 0.0, "foreign_cpu_percent": 0.0, "cpu_pressure_percent": 0.0}


def record(one, number, value=1.0, **changes):
    """What progress looks at."""
    return {"block": one.block, "round": number, "cell": one.cell, "row": one.row,
            "group": one.group, "reference": one.reference, "attempt": 1, "ok": True,
            "warmup": False, "repeats": None, "elapsed_s": 1.0, "noise": QUIET, "failure": "",
            "verdict": "good", "started_unix_s": 1.0, "value": None,
            "server": {"cpu_us_per_request": value}, **changes}


def whole_round(made, number, block=None, **changes):
    cells = (block or made.blocks[0]).cells
    return [record(one, number, **changes) for one in cells]


class Rounds(unittest.TestCase):
    def setUp(self):
        self.made = plan([*references("b"), cell("one", "b")], rounds=3)
        self.block = self.made.blocks[0]

    def next_of(self, records, made=None):
        step = Progress(made or self.made, records).next_round()
        return step and step[1]

    def test_the_next_round_is_the_first_that_is_not_whole(self):
        self.assertEqual(self.next_of([]), 1)
        records = whole_round(self.made, 1)
        self.assertEqual(self.next_of(records), 2)
        self.assertEqual(self.next_of(records[:-1]), 1)
        self.assertIsNone(self.next_of(sum((whole_round(self.made, n) for n in (1, 2, 3)), [])))

    def test_a_cell_is_done_when_it_succeeded_or_failed_twice(self):
        one = self.block.cells[2]
        for records, attempt in (
                ([], 1), ([record(one, 1)], None), ([record(one, 1, ok=False)], 2),
                ([record(one, 1, ok=False), record(one, 1, attempt=2)], None),
                ([record(one, 1, ok=False), record(one, 1, ok=False, attempt=2)], None)):
            self.assertEqual(Progress(self.made, records).attempt_of(one, 1), attempt)

    def test_blocks_go_on_side_by_side_as_far_as_each_has_to(self):
        two = Block(2, "two", "hello", 0, 6, 6, tuple(replace(one, block=2, cell=one.cell + "2")
                                                      for one in self.block.cells))
        made = replace(self.made, blocks=(self.block, two))
        records, steps = [], []
        while (step := Progress(made, records).next_round()) is not None:
            steps.append((step[0].number, step[1]))
            records += whole_round(made, step[1], step[0])
        self.assertEqual(steps, [(1, 1), (2, 1), (2, 2), (1, 2), (2, 3), (2, 4), (1, 3), (2, 5),
                                 (2, 6)])

    def test_a_budget_ends_rounds_but_never_one_that_was_begun(self):
        made = replace(self.made, budget_s=7.0)
        records = whole_round(made, 1)  # three seconds
        self.assertEqual(self.next_of(records, made), 2)
        records += whole_round(made, 2)[:1]
        self.assertEqual(self.next_of(records, made), 2)
        records += whole_round(made, 2)[1:]
        self.assertIsNone(self.next_of(records, made))
        endless = replace(self.block, rounds=None, expected_rounds=1)
        made = replace(made, blocks=(endless,), budget_s=100.0)
        self.assertEqual(self.next_of(records, made), 3)

    def test_the_first_round_is_done_whatever_the_budget(self):
        self.assertEqual(self.next_of([], replace(self.made, budget_s=0.001)), 1)

    def test_a_target_interval_ends_the_rounds_when_every_row_has_it(self):
        block = replace(self.block, rounds=50)
        made = replace(self.made, blocks=(block,), target_ci_percent=2.0)
        def measured(spread):
            return [record(one, n, 1.0 + spread * (n % 3) * (one.row == "one"))
                    for n in range(1, 8) for one in block.cells]
        self.assertIsNone(self.next_of(measured(0.001), made))
        self.assertEqual(self.next_of(measured(0.1), made), 8)
        self.assertEqual(self.next_of(measured(0.001)[:15], made), 6)

    def test_the_interval_lies_between_order_statistics(self):
        self.assertEqual(progress.half_width_percent([1.0] * 5), math.inf)
        self.assertAlmostEqual(progress.half_width_percent([1.0] * 20), 0.0)
        # Of ten values the second and the ninth: 2 * P(at most one below the median) = 0.021.
        values = [math.exp(number) for number in range(10)]
        self.assertAlmostEqual(progress.half_width_percent(values), 100 * (math.exp(3.5) - 1))


class Repeats(unittest.TestCase):
    def setUp(self):
        self.made = plan(references("b"), rounds=3, noise=Noise(1.0, 5.0, most_repeats=2))
        loud = {**QUIET, "foreign_cpu_percent": 30.0}
        self.records = [*whole_round(self.made, 1, noise=loud), *whole_round(self.made, 2),
                        *whole_round(self.made, 3, noise={**QUIET, "steal_percent": 1.5})]

    def again(self):
        step = Progress(self.made, self.records).noisy_round()
        return step and step[1:]

    def test_noisy_rounds_are_done_again_under_numbers_of_their_own(self):
        self.assertEqual(self.again(), (4, 1))
        self.records += whole_round(self.made, 4, repeats=1)[:1]
        self.assertEqual(self.again(), (4, 1))
        self.records += whole_round(self.made, 4, repeats=1)[1:]
        self.assertIsNone(Progress(self.made, self.records).next_round())
        self.assertEqual(self.again(), (5, 3))
        self.records += whole_round(self.made, 5, repeats=3)
        self.assertIsNone(self.again())

    def test_their_number_is_bounded_and_one_noisy_cell_may_be_outweighed(self):
        self.made = replace(self.made, noise=Noise(1.0, 5.0, most_repeats=0))
        self.assertIsNone(self.again())
        self.made = replace(self.made, noise=Noise(1.0, 20.0, most_repeats=1))
        self.records[0]["noise"] = QUIET  # the mean of the round is now 15 %
        self.assertEqual(self.again(), (4, 3))


class Ends(unittest.TestCase):
    def test_the_last_attempt_counts(self):
        one = cell("one", "b")
        result = Result([record(one, 1, ok=False), record(one, 1, attempt=2),
                         record(one, 2, ok=False), record(one, 2, attempt=2, ok=False),
                         record(one, 3, verdict="noisy")])
        self.assertEqual((result.cells, result.failed_cells, result.noisy_percent), (3, 1, 50.0))


class Files(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="heddle journal ")
        self.addCleanup(scratch.cleanup)
        self.place = Path(scratch.name)
        self.path = self.place / "rounds.jsonl"

    def journal(self):
        opened = Journal(self.place)
        self.addCleanup(opened.close)
        return opened

    def test_every_record_is_a_line_when_append_returns(self):
        opened = self.journal()
        opened.append({"row": "ä"})
        self.assertEqual(self.path.read_text(encoding="utf-8"), '{"row": "ä"}\n')
        self.assertEqual(opened.recover(), [{"row": "ä"}])

    def test_a_torn_last_line_is_dropped_and_said(self):
        self.path.write_text('{"row": "a"}\n{"row": "b"', encoding="utf-8")
        opened = self.journal()
        with support.captured() as (_, err):
            self.assertEqual(opened.recover(), [{"row": "a"}])
        self.assertIn("dropped 11 bytes of a torn last line", err.getvalue())
        opened.append({"row": "c"})
        self.assertEqual(journal.read(self.path)[0], [{"row": "a"}, {"row": "c"}])

    def test_a_line_in_the_middle_that_is_no_record_is_refused(self):
        self.path.write_text('{"row": "a"}\nrubbish\n{"row": "b"}\n', encoding="utf-8")
        self.assertRaisesRegex(UsageProblem, "line 2 is no record", journal.read, self.path)

    def test_one_runner_at_a_time(self):
        self.assertFalse(journal.is_measured_into(self.place))
        opened = self.journal()
        self.assertTrue(journal.is_measured_into(self.place))
        self.assertRaisesRegex(Problem, "by another process", Journal, self.place)
        opened.close()
        self.assertFalse(journal.is_measured_into(self.place))
        self.assertRaisesRegex(Problem, "cannot be written", Journal, self.place / "absent")

    def test_status_tells_progress_end_noise_and_failures(self):
        made = plan([*references("b"), cell("one", "b")], rounds=4)
        (self.place / "plan.json").write_text(plans.as_json(made), encoding="utf-8")
        records = whole_round(made, 1)
        records += [record(made.cells[2], 2, ok=False, failure="exit status 4"),
                    record(made.cells[2], 2, ok=False, failure="exit status 4", attempt=2)]
        self.path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
        lines = status.lines_of(self.place)
        text = "\n".join(lines)
        self.assertIn("test: 5 measurements, 5 s of measuring; seed 7", lines)
        self.assertIn("hello: 1 of 4 rounds, 3 cells", text)
        self.assertRegex(text, r"not running since .*; about \d+ s left: ./heddle resume")
        self.assertIn("failed: 1 of 4 cells", lines)
        self.assertIn("  one: exit status 4", lines)
        self.assertIn("noise: 0 % of the measurements are noisy", text)


class Schema(unittest.TestCase):
    def test_what_a_record_may_not_be(self):
        self.assertIn("record: no campaign", schema.faults({}))
        found = "\n".join(schema.faults({
            "schema": "x", "kind": "thing", "round": 0, "ok": 1, "notes": [3], "errors": {"a": -1},
            "parameters": {}, "server": {"more": 1}, "surprise": 1, "latency_ns": {"mean": "x"}}))
        for fault in ("schema: 'x' is not 'heddle-round-2'", "kind: 'thing' is none of",
                      "round: 0 is out of range", "ok: 1 is not of type boolean",
                      "notes[0]: 3 is not of type string", "errors.a: -1 is out of range",
                      "parameters: none of [['duration_s'], ['requests']]",
                      "server: unknown field 'more'", "unknown field 'surprise'",
                      "latency_ns.mean: 'x' is not of type"):
            self.assertIn(fault, found)

    def test_the_order_of_a_round_is_all_that_a_seed_decides(self):
        made = plan([cell(str(number), "b") for number in range(9)])
        self.assertEqual(order_of(7, made.blocks[0], 1), order_of(7, made.blocks[0], 1))


if __name__ == "__main__":
    unittest.main()
