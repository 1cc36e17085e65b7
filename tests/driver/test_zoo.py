"""Filters, nearest names, and the two forms of `list`."""
import json
import tempfile
import unittest
from pathlib import Path

import support  # noqa: F401  (sets the import path)
from driver import zoo
from driver.console import Problem, UsageProblem

NAMES = ["epoll-work-stealing-bounded-spmc", "epoll-work-sharing-locking",
         "io_uring-work-sharing-locking"]


def sample() -> dict:
    return {"queues": [{"name": "locking", "available": True}],
            "schedulers": [], "combinations": [{"name": name, "available": True} for name in NAMES],
            "pollers": [{"name": "io_uring", "available": False, "reason": "needs Linux 5.19"}],
            "servers": [{"name": "hello-" + NAMES[0], "binary": "hello", "combination": NAMES[0]}]}


class Filters(unittest.TestCase):
    def test_every_word_must_occur(self):
        self.assertTrue(zoo.matches(NAMES[1], ["sharing", "epoll"]))
        self.assertFalse(zoo.matches(NAMES[1], ["sharing", "spmc"]))
        self.assertTrue(zoo.matches(NAMES[1], []))

    def test_a_pattern_is_for_the_whole_name(self):
        self.assertTrue(zoo.matches(NAMES[1], ["epoll-*-locking"]))
        self.assertFalse(zoo.matches(NAMES[1], ["epoll-*-lock"]))

    def test_nearest_names_include_parts_of_names(self):
        self.assertIn("bounded-spmc", zoo.nearest(["bounded-smpc"], NAMES))
        self.assertIn("work-stealing", zoo.nearest(["work-staeling"], NAMES))
        self.assertEqual(zoo.nearest(["qqqqqq"], NAMES), [])

    def test_words_that_never_meet_are_told_so(self):
        problem = zoo.nothing_matches(["io_uring", "spmc"], NAMES)
        self.assertIn("in no name all of them", str(problem))

    def test_filtering_keeps_the_shape_of_the_object(self):
        found = zoo.filtered(self.load(sample()), ["locking"])
        self.assertEqual([len(found[kind]) for kind in zoo.KINDS], [1, 0, 0, 2, 0, 0, 0])
        with self.assertRaisesRegex(UsageProblem, "nearest: .*locking"):
            zoo.filtered(self.load(sample()), ["lcoking"])

    def test_missing_kinds_and_availability_are_filled_in(self):
        loaded = self.load(sample())
        self.assertEqual((loaded["peers"], loaded["presets"]), ([], []))
        self.assertTrue(loaded["servers"][0]["available"])

    def test_a_missing_or_broken_file_is_one_clear_problem(self):
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "zoo.json"
            self.assertRaisesRegex(Problem, "is missing", zoo.load, path)
            path.write_text("{", encoding="utf-8")
            self.assertRaisesRegex(Problem, "is not JSON", zoo.load, path)

    def test_the_table_says_why(self):
        text = zoo.table(self.load(sample()))
        self.assertRegex(text, r"io_uring +unavailable: needs Linux 5.19")
        self.assertIn("pollers (0 of 1 available)", text)

    def test_servers_that_share_a_program_share_a_line(self):
        shared = {"binary": "servers/heddle-server", "protocol": "echo"}
        text = zoo.table(self.load({"servers": [
            *({**shared, "name": f"echo-{name}", "combination": name} for name in NAMES[:2]),
            {**shared, "name": f"json-{NAMES[2]}", "protocol": "json", "combination": NAMES[2]},
            *({"name": f"hello-{name}", "binary": f"servers/hello-{name}", "protocol": "hello",
               "combination": name} for name in NAMES)]}))
        self.assertEqual([line.split() for line in text.splitlines()], [
            ["servers", "(6", "of", "6", "available)"],
            ["echo-epoll-work-s*", "2", "combinations"],
            [f"json-{NAMES[2]}"],
            *([f"hello-{name}"] for name in NAMES)])

    @staticmethod
    def load(content: dict) -> dict:
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "zoo.json"
            path.write_text(json.dumps(content), encoding="utf-8")
            return zoo.load(path)


if __name__ == "__main__":
    unittest.main()
