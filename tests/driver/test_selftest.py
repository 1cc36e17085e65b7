"""The self-test's own arithmetic: intervals, roles by chance, verdicts on known data."""
import math
import random
import unittest

import support
from driver.analysis.records import Directory, Results
from driver.console import UsageProblem
from driver.lab import selftest
from driver.lab.selftests import binomial, injected, same


def record(row: str, mark: str, number: int, cpu_us: float, rate: float) -> dict:
    return {"schema": "heddle-round-2", "campaign": "c", "cell": row, "row": row, "group": "g",
            "reference": mark, "workload": "imbalance", "kind": "combination", "host": "h",
            "build": "b", "block": 1, "round": number, "position": 1, "attempt": 1, "seed": 1,
            "warmup": False, "ok": True, "failure": "", "verdict": "good",
            "parameters": {"mode": "closed"}, "throughput_rps": rate, "latency_ns": None,
            "server": {"cpu_us_per_request": cpu_us}, "checks": {}, "noise": {}, "notes": []}


def rounds_of(cells: list[tuple[str, str, float]], count: int, chance: random.Random,
              noise: float) -> list[dict]:
    """`count` rounds of cells (row, mark, processor time) with log-normal noise."""
    return [record(row, mark, number, cpu_us * math.exp(chance.gauss(0, noise)),
                   5e4 * math.exp(chance.gauss(0, noise)))
            for number in range(1, count + 1) for row, mark, cpu_us in cells]


class Binomial(unittest.TestCase):
    # From sums of math.comb in 50 digits.
    KNOWN = {(0, 400): (0.0, 0.009179805), (20, 400): (0.030805241, 0.076166973),
             (5, 10): (0.187086028, 0.812913972), (10, 10): (0.691502892, 1.0)}

    def test_intervals_are_exact(self):
        for (count, trials), expected in self.KNOWN.items():
            for value, wanted in zip(binomial.clopper_pearson(count, trials), expected):
                self.assertAlmostEqual(value, wanted, places=8)

    def test_ends_are_where_the_tail_is_two_and_a_half_percent(self):
        for count, trials in ((1, 7), (3, 400), (250, 400)):
            low, high = binomial.clopper_pearson(count, trials)
            self.assertAlmostEqual(binomial.at_most(count, trials, high), 0.025, places=9)
            self.assertAlmostEqual(1 - binomial.at_most(count - 1, trials, low), 0.025, places=9)

    def test_impossible_counts_are_refused(self):
        for count, trials in ((-1, 4), (5, 4), (0, 0)):
            with self.assertRaises(ValueError):
                binomial.clopper_pearson(count, trials)


class SameServer(unittest.TestCase):
    def test_sets_of_a_partition_share_no_round_and_comparisons_suffice(self):
        for rounds in (16, 40, 43, 320):
            found = same.partitions(rounds, 3, same.COMPARISONS)
            for sets in found:
                numbers = [number for one in sets for number in one]
                self.assertEqual(len(numbers), len(set(numbers)))
                self.assertTrue(all(len(one) == same.ROUNDS for one in sets))
            held = sum(len(sets) for sets in found) * same.ROWS
            self.assertGreaterEqual(held, same.COMPARISONS)
        self.assertEqual(len(same.partitions(320, 3, same.COMPARISONS)), 1)

    def test_roles_are_given_by_chance_and_every_measurement_has_one(self):
        cells = [(f"cell {i}", "", 1.0 + i) for i in range(len(same.roles()))]
        rounds = [rounds_of(cells, 1, random.Random(i), 0) for i in range(30)]
        made = same.with_roles(rounds, random.Random(1))
        references = set()
        for number in range(1, 31):
            values = [one["server"]["cpu_us_per_request"] for one in made
                      if one["round"] == number]
            self.assertEqual(sorted(values), [1.0 + i for i in range(len(cells))])
            references.add(values[0])
        self.assertGreater(len(references), 5)

    def test_noise_alone_is_no_finding(self):
        measured = rounds_of([(row, mark, 20.0) for row, mark in same.roles()], 16,
                             random.Random(5), 0.05)
        every, first = same.count(measured, seed=5, comparisons=40)
        for name in same.METRICS:
            self.assertEqual(every[name].comparisons, 40)
            self.assertLessEqual(every[name].false_findings, 2)
            self.assertEqual(first[name].comparisons, 2 * same.ROWS)

    def test_a_server_that_differs_is_a_finding(self):
        cells = [(row, mark, 30.0 if row == "again 1" else 20.0) for row, mark in same.roles()]
        measured = rounds_of(cells, same.ROUNDS, random.Random(5), 0.01)
        found = same.judge(measured, seed=1)["cpu_us_per_request"]
        self.assertEqual(sum(is_found for is_found, _ in found), 1)

    def test_the_planned_roles_hold_one_reference_and_its_second(self):
        marks = [mark for _, mark in same.roles()]
        self.assertEqual((marks.count("A"), marks.count("A'"), marks.count("")),
                         (1, 1, same.ROWS))


class Injected(unittest.TestCase):
    def cells(self, slower_us: float) -> list[tuple[str, str, float]]:
        return [("A", "A", 20.0), ("A A'", "A'", 20.0), (injected.ROW, "", slower_us)]

    def test_five_microseconds_in_twenty_are_found(self):
        measured = rounds_of(self.cells(25.0), injected.ROUNDS, random.Random(1), 0.05)
        found = injected.judge(measured, 50.0)
        self.assertTrue(found.is_found, found)
        self.assertAlmostEqual(found.added_us, 5.0, delta=2.0)

    def test_nothing_injected_is_nothing_found(self):
        measured = rounds_of(self.cells(20.0), injected.ROUNDS, random.Random(1), 0.05)
        self.assertFalse(injected.judge(measured, 50.0).is_found)

    def test_too_late_is_not_found(self):
        measured = rounds_of(self.cells(25.0), injected.ROUNDS, random.Random(1), 0.05)
        self.assertFalse(injected.judge(measured, injected.MOST_S + 1).is_found)

    def test_the_records_can_be_read_as_results(self):
        measured = rounds_of(self.cells(25.0), 2, random.Random(1), 0)
        self.assertEqual(len(Results([Directory(support.ROOT, measured)]).cells()), 3)


class CommandLine(unittest.TestCase):
    def test_bad_input_is_one_line_that_says_what_is_allowed(self):
        for words, expected in {
                ("--inject", "5"): "'5' is not a time from 1us to 1000ms",
                ("--inject", "0us"): "is not a time from 1us",
                ("--inject", "2000ms"): "is not a time from 1us",
                ("--rounds", "7"): "'7' is not a whole number from 8 to 10000",
                ("--only", "nothing"): "choose from 'same', 'injected', 'overload', 'stall'",
                ("--seed", "-1"): "--seed",
                ("--jsn",): "unknown option '--jsn'"}.items():
            with self.subTest(words=words), self.assertRaises(UsageProblem) as caught:
                selftest.command_selftest(list(words))
            self.assertIn(expected, str(caught.exception))

    def test_times_are_whole_microseconds(self):
        self.assertEqual([selftest.duration_us(text) for text in ("5us", "1ms", "1000000us")],
                         [5, 1000, 1000000])


if __name__ == "__main__":
    unittest.main()
