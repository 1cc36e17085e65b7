#!/usr/bin/env python3
"""One queue-bench program: every workload that its queue allows runs, loses nothing and prints what
docs/measuring_queues.md says.

usage: queue_bench_test.py PROGRAM
"""
import json
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from driver.queue_cells import WORKLOADS

PROGRAM = sys.argv[1]
NAME = PROGRAM.rsplit("queue-bench-", 1)[1]
MANY = 8  # more threads than a small machine has processors


def run(*words):
    return subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=100, check=False)


class QueueBench(unittest.TestCase):
    def result(self, *words):
        done = run(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        self.assertEqual(done.stdout.count("\n"), 1)
        found = json.loads(done.stdout)
        self.assertEqual((found["schema"], found["queue"]), ("heddle-queue-bench-1", NAME))
        return found

    def test_it_lists_the_workloads_that_the_driver_knows(self):
        names = [rule["name"] for rule in json.loads(run("--list").stdout)["workloads"]]
        self.assertEqual(names, list(WORKLOADS))

    def rules(self):
        return [rule for rule in json.loads(run("--list").stdout)["workloads"] if rule["most_threads"]]

    def thread_counts(self, rule):
        """The fewest threads that the rule allows, and as many as MANY of them."""
        unit = rule["multiple_of"]
        fewest = -(-rule["least_threads"] // unit) * unit
        return sorted({fewest, min(MANY, rule["most_threads"]) // unit * unit} - {0})

    def test_every_workload_runs_for_a_time_and_reports_in_its_units(self):
        self.assertTrue(self.rules())
        for rule in self.rules():
            for threads in self.thread_counts(rule):
                with self.subTest(workload=rule["name"], threads=threads):
                    found = self.result("--workload", rule["name"], "--threads", str(threads),
                                        "--duration-ms", "8", "--sample-every", "8", "--seed", "7")
                    self.assertEqual((found["threads"], found["seed"]), (threads, 7))
                    self.assertGreaterEqual(found["elapsed_ns"], 7e6)
                    rate = found["operations"] * 1e3 / found["elapsed_ns"]
                    self.assertAlmostEqual(found["mops_per_second"], rate, places=6)
                    self.assertEqual(sum(role["threads"] for role in found["fairness"].values()), threads)
                    if rule["name"] != "empty-pop":
                        self.assertEqual(found["operations"], found["pushes"] + found["pops"])

    def test_so_many_operations_are_done_by_every_workload(self):
        for rule in self.rules():
            for threads in self.thread_counts(rule):
                with self.subTest(workload=rule["name"], threads=threads):
                    found = self.result("--workload", rule["name"], "--threads", str(threads),
                                        "--operations", "400", "--no-pin")
                    # Pushes and pops that were refused are no operations; thieves come on top.
                    self.assertGreater(found["operations"], 100)
                    self.assertIsNone(found["duration_asked_ms"])

    def test_think_time_is_calibrated_and_slows_the_run(self):
        found = self.result("--think-ns", "500", "--operations", "2000", "--sample-every", "1")
        self.assertAlmostEqual(found["think_measured_ns"], 500, delta=100)
        self.assertGreater(found["mean_ns_per_operation"], 400)
        operation = found["latency"]["operation"]
        self.assertEqual(operation["samples"], found["operations"])
        self.assertLessEqual(operation["p50_ns"], operation["max_ns"])
        buckets = found["latency"]["push"]["histogram_ns_count"]
        self.assertEqual(sum(count for _, count in buckets), found["latency"]["push"]["samples"])

    def test_the_untimed_run_counts_and_has_no_times(self):
        found = self.result("--count", "--operations", "2000")
        self.assertFalse(found["timed"])
        self.assertIsNone(found["mops_per_second"])
        self.assertIsNone(found["latency"])
        if NAME in ("fetch-add", "locking"):
            self.assertEqual(found["obstacles"], {"failed_compare_exchanges_per_operation": 0,
                                                  "contended_locks_per_operation": 0})
        self.assertEqual(found["memory"]["bytes_per_element"] is None, NAME == "fetch-add")

    def test_bad_input_is_one_line_and_exit_2(self):
        for words, expected in {
                ("--workload", "pairwyse"): "workload 'pairwyse' is unknown; allowed: ",
                ("--threads", "0"): "--threads: Value 0 not in range",
                ("--threads", "x"): "--threads",
                ("--think-ns", "-1"): "--think-ns",
                ("--think-ns", "nan"): "--think-ns",
                ("--workload", "ping-pong", "--threads", "3"): "ping-pong",
                ("--operations", "5", "--duration-ms", "5"): "exclude each other",
                ("--steal-percent", "50"): "--steal-percent",
                ("--nonsense",): "--nonsense",
                ("extra",): "extra"}.items():
            with self.subTest(words=words):
                done = run(*words)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(expected, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
