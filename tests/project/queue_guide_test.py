#!/usr/bin/env python3
"""The table of docs/queues.md has a whole row for each queue of the zoo, and no others.

usage: queue_guide_test.py SOURCE_ROOT ZOO_JSON
"""
import json
import sys
import unittest
from pathlib import Path

ROOT, ZOO = map(Path, sys.argv[1:3])
sys.path.insert(0, str(ROOT / "docs"))
import fill_queue_table as guide

TIME = r"[\d.]+ \[[\d.]+, [\d.]+\]"
LOG = """mine: push push | pop pop: 24 executions, 130 redundant, complete
mine: push: pop | push pop: 600 executions, 7 redundant, stopped after 607; 400 at random, 3 cut (a spin, or 9 steps)
"""
TABLE = """text

| queue | source | explored | ns, 1 thread |
|---|---|---|---|
| `mine` | here | ? | ? |
| `other` | there | old | old |

| queue | no part of it |
"""


def table():
    """The rows as dictionaries, by queue."""
    lines = (ROOT / "docs/queues.md").read_text(encoding="utf-8").split("\n")
    start = next(at for at, line in enumerate(lines) if line.startswith("| queue |"))
    heads = guide.cells_of(lines[start])
    rows = []
    for line in lines[start + 2:]:
        if not line.startswith("|"):
            break
        rows.append(dict(zip(heads, guide.cells_of(line), strict=True)))
    return rows


class Members(unittest.TestCase):
    def test_each_member_of_the_zoo_has_one_row(self):
        members = [entry["name"] for entry in json.loads(ZOO.read_text(encoding="utf-8"))["queues"]]
        self.assertEqual(sorted(row["queue"] for row in table()),
                         sorted(f"`{name}`" for name in members))

    def test_each_row_says_what_was_explored_and_measured(self):
        for row in table():
            name = row["queue"].strip("`")
            with self.subTest(name):
                header = (ROOT / f"src/queues/{name.replace('-', '_')}.hpp").read_text(encoding="utf-8")
                self.assertTrue(all(row.values()), row)
                self.assertRegex(row["explored"], "has its own atomics" if ".native_only = true" in header
                                 else r"^\d+ clients, \d+ to the end; [\d,]+ executions$")
                for column in guide.MEASURED.values():
                    self.assertRegex(row[column], rf"^({TIME} / {TIME}|–)$")


class Filling(unittest.TestCase):
    def test_clients_and_executions_are_added_up(self):
        self.assertEqual(guide.explored(LOG), {"mine": "2 clients, 1 to the end; 1,024 executions"})

    def test_rounds_become_medians_with_their_intervals(self):
        def record(push_ns, cell="pairwise, 1 thread", ok=True, number=1):
            return json.dumps({"row": "mine", "cell": cell, "ok": ok, "round": number, "result": {
                "latency": {"push": {"histogram_ns_count": [[push_ns, 100]]},
                            "pop": {"histogram_ns_count": [[5.0, 100]]}}}})
        lines = [*map(record, (10, 11, 14)), record(99, "burst, 1 thread"), record(99, ok=False),
                 record(99, number=0)]
        self.assertEqual(guide.measured(lines, "pairwise, 1 thread"),
                         {"mine": "11.0 [10.0, 14.0] / 5.0 [5.0, 5.0]"})

    def test_only_the_cells_that_are_known_change(self):
        filled = guide.fill(TABLE, {"explored": {"mine": "much"}, "ns, 1 thread": {"mine": "5"}})
        self.assertEqual(filled, TABLE.replace("| ? | ? |", "| much | 5 |"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
