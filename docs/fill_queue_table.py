#!/usr/bin/env python3
"""Fills the measured columns of the table in docs/queues.md from what tests and benchmarks wrote.

usage: fill_queue_table.py [--explored LOG]... [--measured DIRECTORY]

  --explored LOG        output of queue-explore tests, such as build/meson-logs/testlog.txt
  --measured DIRECTORY  results of `./heddle bench queues pairwise --threads 1,2`
"""
from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from driver.queue_estimates import merged_quantiles  # pylint: disable=wrong-import-position

EXPLORED = "explored"
MEASURED = {"pairwise, 1 thread": "ns, 1 thread", "pairwise, 2 threads": "ns, 2 threads"}
# What explore_test.cpp prints for each client: "NAME: CLIENT: 24 executions, 130 redundant, complete".
CLIENT = re.compile(r"^([a-z0-9-]+): ([^:]+(?:: [^:]+)?): (\d+) executions(.*)$", re.MULTILINE)
AT_RANDOM = re.compile(r"; (\d+) at random")


def explored(text: str) -> dict[str, str]:
    """The cell of each queue that has a client in the output of the tests."""
    clients: dict[str, dict[str, tuple[int, bool]]] = defaultdict(dict)
    for queue, client, executions, rest in CLIENT.findall(text):
        more = AT_RANDOM.search(rest)
        clients[queue][client] = (int(executions) + (int(more[1]) if more else 0),
                                  ", complete" in rest)
    return {queue: f"{len(found)} clients, {sum(ended for _, ended in found.values())} to the end; "
                   f"{sum(count for count, _ in found.values()):,} executions"
            for queue, found in clients.items()}


def measured(lines: list[str], cell: str) -> dict[str, str]:
    """Each queue's median times of a push and of a pop in the cell, with their intervals."""
    times: dict[str, dict[str, list]] = defaultdict(lambda: {"push": [], "pop": []})
    for record in map(json.loads, lines):
        if record["cell"] == cell and record["ok"] and record["round"]:
            for call, histograms in times[record["row"]].items():
                if sampled := record["result"]["latency"][call]:
                    histograms.append(sampled["histogram_ns_count"])
    found = {}
    for queue, calls in times.items():
        medians = [merged_quantiles(histograms, seed=1)["p50"] for histograms in calls.values()]
        if all(medians):
            found[queue] = " / ".join(f"{one.median:.1f} [{one.low:.1f}, {one.high:.1f}]"
                                      for one in medians)
    return found


def cells_of(line: str) -> list[str]:
    """The cells of a row of a table in Markdown."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def fill(guide: str, columns: dict[str, dict[str, str]]) -> str:
    """The text with these columns of the table of queues, each a cell by queue, replaced."""
    lines = guide.split("\n")
    start = next(at for at, line in enumerate(lines) if line.startswith("| queue |"))
    heads = cells_of(lines[start])
    for at in range(start + 2, len(lines)):
        if not lines[at].startswith("|"):
            break
        cells = cells_of(lines[at])
        for column, by_queue in columns.items():
            queue = cells[0].strip("`")
            cells[heads.index(column)] = by_queue.get(queue, cells[heads.index(column)])
        lines[at] = "| " + " | ".join(cells) + " |"
    return "\n".join(lines)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--explored", type=Path, action="append", default=[], metavar="LOG")
    parser.add_argument("--measured", type=Path, metavar="DIRECTORY")
    options = parser.parse_args()
    columns = {}
    if options.explored:
        columns[EXPLORED] = explored("\n".join(path.read_text(encoding="utf-8")
                                               for path in options.explored))
    if options.measured:
        lines = (options.measured / "rounds.jsonl").read_text(encoding="utf-8").splitlines()
        columns |= {column: measured(lines, cell) for cell, column in MEASURED.items()}
    guide = ROOT / "docs/queues.md"
    guide.write_text(fill(guide.read_text(encoding="utf-8"), columns), encoding="utf-8")


if __name__ == "__main__":
    main()
