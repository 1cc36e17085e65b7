"""The comparison of queues end to end against programs that print fixed figures, and its parts."""
import json
import re
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from unittest import mock

import support
from driver import queue_bench, queue_cells, queue_estimates, queue_figures, queue_report
from driver.analysis.estimates import Estimate
from driver.console import Problem, UsageProblem
from driver.queue_bench import Plan, Request
from driver.queue_cells import Cell, Choice, QueueRow, Rule

FACTS = {"cores_usable": 2, "commit": None}
RULES = {"pairwise": (1, 256, 1), "one-to-one": (2, 256, 2), "ping-pong": (2, 2, 1),
         "nearly-full": (1, 0, 1), "owner-thieves": (1, 256, 1)}

# Prints RATE, varied by the seed, in the form of the real programs; {trouble} may do otherwise.
FAKE = """#!/usr/bin/python3
import json, sys
RULES = {rules!r}
if "--list" in sys.argv:
    print(json.dumps({{"workloads": [
        {{"name": name, "least_threads": least, "most_threads": most, "multiple_of": unit}}
        for name, (least, most, unit) in RULES.items()]}}))
    sys.exit()
given = dict(zip(sys.argv[1::2], sys.argv[2::2])) if "--count" not in sys.argv else {{}}
{trouble}
seed = int(given.get("--seed", 0))
rate = {rate} * (1 + seed % 10 / {quiet})
times = {{"samples": 1000, "max_ns": 900.0, "histogram_ns_count": [[20.0, 980], [800.0, 20]]}}
print(json.dumps({{
    "schema": "heddle-queue-bench-1", "timed": "--count" not in sys.argv, "operations": 1000,
    "mops_per_second": rate, "answers": {{"false_empty": {false_empty}}},
    "latency": {{"push": times, "pop": times, "round_trip": None}},
    "fairness": {{"thread": {{"threads": 2, "min_over_max": 0.9}}}}, "steals": None,
    "obstacles": {{"failed_compare_exchanges_per_operation": 0.25,
                  "contended_locks_per_operation": 0}},
    "memory": {{"peak_above_start_kib": 64, "bytes_per_element": 16.0}}}}))
"""


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="heddle queues ")
        self.addCleanup(scratch.cleanup)
        self.place = Path(scratch.name)

    def program(self, queue, rate=10.0, trouble="", rules=None, quiet=1000, false_empty=0):
        text = FAKE.format(rules=rules or RULES, rate=rate, trouble=trouble, quiet=quiet,
                           false_empty=false_empty)
        path = self.place / queue_cells.PROGRAM.format(queue)
        return str(support.write_program(path, text))


def rows_for(queues, choice=Choice(), workloads=("pairwise",), rules=None):
    rules = rules or {queue: [Rule(name, *limits) for name, limits in RULES.items()]
                      for queue in (*queue_cells.REFERENCES, *queues)}
    return queue_cells.make_rows(choice, list(workloads), list(queues), rules, Path("b"))


class Rows(Scratch):
    def test_each_cell_has_the_reference_twice_and_each_queue_once(self):
        rows = rows_for(["locking", "mine"])
        self.assertEqual([row.name for row in rows if row.cell.threads == 2],
                         ["fetch-add: pairwise, 2 threads", "locking: pairwise, 2 threads",
                          "mine: pairwise, 2 threads", "fetch-add A': pairwise, 2 threads"])
        self.assertEqual(queue_cells.reference_of(rows, rows[0].cell), "fetch-add")

    def test_rules_decide_who_takes_part_and_who_is_the_reference(self):
        rules = {"fetch-add": [Rule("ping-pong", 2, 0, 1)], "locking": [Rule("ping-pong", 2, 2, 1)],
                 "mine": [Rule("ping-pong", 2, 2, 1)], "deaf": []}
        rows = rows_for(["mine", "deaf"], workloads=["ping-pong"], rules=rules)
        self.assertEqual([row.label for row in rows], ["locking", "mine", "locking A'"])
        rules["locking"] = []
        rows = rows_for(["mine", "deaf"], workloads=["ping-pong"], rules=rules)
        self.assertEqual([row.label for row in rows], ["mine", "mine A'"])
        with self.assertRaisesRegex(UsageProblem, "no chosen queue runs ping-pong with 1 or 2"):
            rows_for(["deaf"], workloads=["ping-pong"], rules=rules)

    def test_thread_counts_think_times_and_steal_shares_make_cells(self):
        choice = Choice(threads=(1, 2, 3), think_ns=(0, 500), steal_percent=(1, 10))
        cells = {row.cell for row in rows_for(["mine"], choice, ["one-to-one", "owner-thieves"])}
        self.assertEqual({cell.label for cell in cells if cell.workload == "one-to-one"},
                         {"one-to-one, 2 threads", "one-to-one, think 500 ns, 2 threads"})
        alone = [cell for cell in cells if cell.workload == "owner-thieves" and cell.threads == 1]
        self.assertEqual({cell.steal_percent for cell in alone}, {0})
        self.assertIn("owner-thieves, 10 % steals, think 500 ns, 3 threads",
                      {cell.label for cell in cells})
        self.assertEqual(Cell("owner-thieves", 50, 0.1, 2).arguments(),
                         ["--workload", "owner-thieves", "--threads", "2", "--think-ns", "50",
                          "--steal-percent", "0.1"])

    def test_words_choose_queues_and_what_is_left_workloads(self):
        queues = [{"name": "bounded-mpmc", "available": True}, {"name": "locking", "available": True},
                  {"name": "tbb", "available": False, "reason": "needs luck"}]
        self.assertEqual(queue_cells.split_words(("mpmc", "pair"), queues, self.place),
                         (["bounded-mpmc"], ["pair"]))
        with support.captured() as (_, err):
            self.assertRaises(Problem, queue_cells.split_words, ("tbb",), queues, self.place)
        self.assertIn("tbb is unavailable: needs luck", err.getvalue())
        self.assertEqual(queue_cells.choose_workloads(Choice(), ["pair"], []), ["pairwise"])

    def test_an_unknown_word_is_refused_before_anything_is_built(self):
        queues = [{"name": "locking", "available": True}]
        (self.place / "zoo.json").write_text(json.dumps({"queues": queues}), encoding="utf-8")
        build = mock.Mock(path=self.place)
        for choice, said in ((Choice(words=("lokcing",)), "nearest: locking"),
                             (Choice(words=("locking", "brust")), "nearest: burst"),
                             (Choice(workloads=("x",)), "no workload 'x'; allowed: pairwise, ")):
            with self.subTest(said), self.assertRaisesRegex(UsageProblem, said):
                queue_bench.run(Request(choice, None, None, 240.0, 1, None), build, None)
        build.compile.assert_not_called()

    def test_runs_are_so_long_that_ten_rounds_fit(self):
        def plan(count, budget_s=240.0, **more):
            request = Request(Choice(), more.get("ms"), more.get("rounds"), budget_s, 1, None)
            row = QueueRow("q", "q", "p", Cell("pairwise", 0, 0, 1))
            return queue_bench.make_plan(request, [row] * count)
        for count in (50, 300, 700):
            with self.subTest(rows=count):
                self.assertGreaterEqual(plan(count).expected_rounds(), queue_bench.FEWEST_RUNS)
                self.assertLess(10 * plan(count).round_s, 240)
        self.assertEqual(plan(1).duration_ms, queue_bench.LONGEST_MS)
        self.assertEqual(plan(100, rounds=3).expected_rounds(), 3)
        short = plan(5000)
        self.assertEqual(short.duration_ms, queue_bench.SHORTEST_MS)
        with support.captured() as (_, err):
            queue_bench.announce(short)
        self.assertIn("fewer than 10 rounds fit", err.getvalue())

    def test_a_program_that_cannot_list_is_a_problem(self):
        self.assertEqual(queue_cells.rules_of(self.program("a"))[0], Rule("pairwise", 1, 256, 1))
        self.assertRaises(Problem, queue_cells.rules_of, "/bin/false")
        self.assertRaises(Problem, queue_cells.rules_of, str(self.place / "absent"))


class Statistics(unittest.TestCase):
    def test_quantiles_are_those_of_the_sum_and_need_ten_samples_beyond(self):
        one = [[10.0, 900], [20.0, 60], [30.0, 40]]
        found = queue_estimates.merged_quantiles([one, [[10.0, 500]]], 1)
        self.assertEqual([found[name].median for name in ("p50", "p90", "p99")], [10, 10, 30])
        self.assertIsNone(found["p99.9"])  # 1.5 samples lie beyond it
        self.assertTrue(found["p99"].low <= 30 <= found["p99"].high)
        self.assertEqual(queue_estimates.merged_quantiles([], 1)["p50"], None)

    def summary(self, name, rates):
        queue = queue_estimates.QueueSummary(name, ratio=Estimate(rates[0], 0, 9, len(rates)))
        queue.by_round = dict(enumerate(rates, 1))
        return queue

    def test_there_are_no_ranks_inside_a_tie(self):
        near = [10.1, 9.9, 10.0, 10.2, 9.8, 10.0, 10.1, 9.9]
        queues = [self.summary("a", [10.0] * 8), self.summary("b", near),
                  self.summary("c", [9.7] * 8), self.summary("d", [5.0] * 8),
                  self.summary("e", [4.99] * 8)]
        queue_estimates.rank(queues, Estimate(1.0, 0.99, 1.01, 8), 1)
        self.assertEqual([queue.rank for queue in queues], [1, 1, 3, 4, 4])
        # A wider A/A' band ties what differs by less.
        queue_estimates.rank(queues, Estimate(1.0, 0.95, 1.01, 8), 1)
        self.assertEqual([queue.rank for queue in queues], [1, 1, 1, 4, 4])

    def test_few_rounds_make_no_ranks(self):
        queues = [self.summary("a", [10.0] * 3), self.summary("b", [1.0] * 3)]
        queue_estimates.rank(queues, None, 1)
        self.assertEqual([queue.rank for queue in queues], [0, 0])


class Comparing(Scratch):
    def compare(self, queues, count=6, choice=Choice()):
        rows = [QueueRow(row.queue, row.label, str(self.place / queue_cells.PROGRAM.format(row.queue)),
                         row.cell) for row in rows_for(queues, choice)]
        with support.captured() as (out, err):
            code = queue_bench.compare(Plan(tuple(rows), 5, 7, 60.0, count), FACTS, self.place)
        lines = (self.place / "rounds.jsonl").read_text(encoding="utf-8").splitlines()
        return code, out.getvalue(), err.getvalue(), [json.loads(line) for line in lines]

    def test_fixed_figures_come_out_as_their_ratios(self):
        self.program("fetch-add", 20)
        self.program("locking", 5, false_empty=1)
        self.program("mine", 10)
        code, out, _, records = self.compare(["locking", "mine"])
        self.assertEqual(code, 0)
        self.assertEqual(len(records), 6 * 2 * 4 + 2 * 3)  # rounds, thread counts, rows; counting
        self.assertEqual({record["round"] for record in records}, set(range(7)))
        for queue, place, ratio in (("fetch-add", 1, "1 "), ("mine", 2, "0.5"), ("locking", 3, "0.25")):
            self.assertRegex(out, rf"(?m)^{queue} +{place} +{ratio}")
        self.assertRegex(out, r"A/A' \(fetch-add against itself\): (1|0\.99\d|1\.0\d) \[")
        self.assertIn("1000 false empties per million", out)
        self.assertRegex(out, r"(?m)^mine +16 +64 ")
        self.assertEqual(out.splitlines()[-1], "shared cores: not a scaling result")
        orders = [[r["row"] + r["cell"] for r in records if r["round"] == n] for n in (1, 2, 3)]
        self.assertEqual(len({tuple(order) for order in orders}), 3)

    def test_the_page_stands_alone_and_draws_every_queue(self):
        for queue in ("fetch-add", "locking"):
            self.program(queue)
        self.compare(["locking"])
        page = (self.place / "report.html").read_text(encoding="utf-8")
        self.assertNotRegex(page, r"(?:src|href)=|https?://|<script|\bnan\b")
        pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
        self.assertEqual(len(pictures), 3)  # throughput by threads, latencies of two cells
        for picture in pictures:
            ElementTree.fromstring(picture)
            self.assertIn(">locking<", picture)
        self.assertIn("20 [20, 20]", page)

    def test_a_failing_queue_keeps_its_row_and_its_reason(self):
        self.program("fetch-add")
        self.program("locking", trouble="print('lost an item', file=sys.stderr); sys.exit(1)")
        self.program("mine", trouble="print('{}'); sys.exit(0)")
        code, out, err, records = self.compare(["locking", "mine"], count=1)
        self.assertEqual(code, 3)
        self.assertIn("lost an item", err)
        self.assertRegex(out, r"locking +- .*runs failed: lost an item")
        self.assertRegex(out, r"mine +- .*printed no object of schema heddle-queue-bench-1")
        self.assertEqual({r["ok"] for r in records if r["queue"] == "fetch-add"}, {True})
        self.assertTrue((self.place / "report.html").is_file())

    def test_a_reference_that_fails_leaves_absolute_figures(self):
        self.program("fetch-add", trouble="sys.exit(1)")
        self.program("locking", 5)
        code, out, _, _ = self.compare(["locking"], count=1)
        self.assertEqual(code, 3)
        self.assertRegex(out, r"(?m)^locking +- +- +5(\.\d+)? \[")
        self.assertIn("A/A': not measured", out)


class Figures(unittest.TestCase):
    def test_labels_keep_their_distance_and_stay_inside(self):
        places = queue_figures.spread([50, 50, 51, 10, 99], 10, 0, 100)
        self.assertEqual(places[3], 10)
        for one, other in zip(sorted(places), sorted(places)[1:]):
            self.assertGreaterEqual(other - one, 10)
        self.assertTrue(all(0 <= place <= 100 for place in places))

    def test_numbers_have_three_digits(self):
        self.assertEqual([queue_report.figure(x) for x in (12345.6, 123.4, 12.34, 0.01234, 0)],
                         ["12346", "123", "12.3", "0.0123", "0"])


if __name__ == "__main__":
    unittest.main()
