"""What `./heddle bench queues` measures: programs, their workloads, cells and rows."""
from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from driver import zoo
from driver.console import Problem, UsageProblem, say

COUNTER = "fetch-add"  # no queue, but the bound above all of them
REFERENCES = (COUNTER, "locking")  # a cell's reference is the first that its workload allows
AGAIN = " A'"
PROGRAM = "benchmarks/queues/queue-bench-{}"
STEALING = "owner-thieves"
# What every program's --list has, so that a wrong word is refused before anything is built.
WORKLOADS = ("pairwise", "random", "one-to-one", "one-to-many", "many-to-one", "three-to-one",
             "burst", "empty-pop", "nearly-full", "ping-pong", STEALING)
LIST_TIMEOUT_S = 10


@dataclass(frozen=True)
class Choice:
    """What to measure; empty means what is usual."""

    words: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    threads: tuple[int, ...] = (1, 2)
    think_ns: tuple[float, ...] = (0,)
    steal_percent: tuple[float, ...] = (0.1, 1, 10)


@dataclass(frozen=True, order=True)
class Cell:
    """One condition, in which queues are compared. `steal_percent` 0: nobody steals."""

    workload: str
    think_ns: float
    steal_percent: float
    threads: int

    @property
    def series(self) -> str:
        """What does not change along an axis of thread counts."""
        parts = [self.workload]
        if self.steal_percent:
            parts.append(f"{self.steal_percent:g} % steals")
        if self.think_ns:
            parts.append(f"think {self.think_ns:g} ns")
        return ", ".join(parts)

    @property
    def label(self) -> str:
        return f"{self.series}, {self.threads} thread{'s' if self.threads > 1 else ''}"

    def arguments(self) -> list[str]:
        words = ["--workload", self.workload, "--threads", str(self.threads),
                 "--think-ns", f"{self.think_ns:g}"]
        if self.steal_percent:
            words += ["--steal-percent", f"{self.steal_percent:g}"]
        return words


@dataclass(frozen=True)
class QueueRow:
    """One queue in one cell. `label` differs from the queue for the reference's second run."""

    queue: str
    label: str
    program: str
    cell: Cell

    @property
    def name(self) -> str:
        return f"{self.label}: {self.cell.label}"


@dataclass(frozen=True)
class Rule:
    """What a program says of a workload in answer to --list; `most_threads` 0: not with its queue."""

    workload: str
    least_threads: int
    most_threads: int
    multiple_of: int

    def allows(self, threads: int) -> bool:
        return (self.least_threads <= threads <= self.most_threads
                and threads % self.multiple_of == 0)


def split_words(words: tuple[str, ...], queues: list[dict], build: Path
                ) -> tuple[list[str], list[str]]:
    """The queues that the words choose and the words that are left for the workloads. A word that
    occurs in no queue's name is one for workloads."""
    names = [entry["name"] for entry in queues]
    for_queues = [word for word in words if any(zoo.matches(name, [word]) for name in names)]
    chosen = zoo.select(queues, for_queues)
    if not chosen:
        raise zoo.nothing_matches(for_queues, names)
    usable = []
    for entry in chosen:
        if entry["available"]:
            usable.append(entry["name"])
        else:
            say(f"heddle: {entry['name']} is {zoo.state(entry)}")
    if not usable:
        raise Problem(f"no queue of {build} can be measured")
    return usable, [word for word in words if word not in for_queues]


def program_of(queue: str, build: Path) -> str:
    return str(build / PROGRAM.format(queue))


def rules_of(program: str) -> list[Rule]:
    """The workloads that the program's queue allows."""
    try:
        done = subprocess.run([program, "--list"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=LIST_TIMEOUT_S, check=True)
        return [Rule(rule["name"], rule["least_threads"], rule["most_threads"],
                     rule["multiple_of"]) for rule in json.loads(done.stdout)["workloads"]]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise Problem(f"{program} --list failed: {error}") from None


def _cells_of(rule: Rule, choice: Choice) -> list[Cell]:
    cells = []
    for threads in choice.threads:
        if not rule.allows(threads):
            continue
        steals = choice.steal_percent if rule.workload == STEALING and threads > 1 else (0,)
        cells += [Cell(rule.workload, think, percent, threads)
                  for think in choice.think_ns for percent in steals]
    return cells


def choose_workloads(choice: Choice, words: list[str], queues: list[str]) -> list[str]:
    """Those that --workload names, or all, as far as the words, which chose no queue, match;
    UsageProblem for none."""
    for name in choice.workloads:
        if name not in WORKLOADS:
            raise UsageProblem(f"--workload: no workload '{name}'; allowed: {', '.join(WORKLOADS)}")
    wanted = [name for name in WORKLOADS if name in choice.workloads or not choice.workloads]
    chosen = [name for name in wanted if zoo.matches(name, words)]
    if not chosen:
        raise zoo.nothing_matches(words, [*WORKLOADS, *queues])
    return chosen


def make_rows(choice: Choice, workloads: list[str], queues: list[str],
              rules: dict[str, list[Rule]], build: Path) -> list[QueueRow]:
    """Every queue in every cell that it allows, and in each of these cells the reference twice.
    `rules` also has those of the references, which need not be among `queues`."""
    by_cell: dict[Cell, list[str]] = {}
    for queue in queues:
        for rule in rules[queue]:
            for cell in _cells_of(rule, choice) if rule.workload in workloads else ():
                by_cell.setdefault(cell, []).append(queue)
    if not by_cell:
        raise UsageProblem(f"no chosen queue runs {', '.join(workloads)} with "
                           f"{' or '.join(map(str, choice.threads))} threads")
    rows = []
    for cell in sorted(by_cell, key=lambda cell: (workloads.index(cell.workload), cell)):
        able = [queue for queue in dict.fromkeys([*REFERENCES, *by_cell[cell]])
                if any(rule.workload == cell.workload and rule.allows(cell.threads)
                       for rule in rules[queue])]
        reference = able[0]
        for queue in dict.fromkeys([reference, *by_cell[cell]]):
            rows.append(QueueRow(queue, queue, program_of(queue, build), cell))
        rows.append(QueueRow(reference, reference + AGAIN, program_of(reference, build), cell))
    return rows


def reference_of(rows: list[QueueRow], cell: Cell) -> str:
    """The queue that the cell's ratios are taken to."""
    return next(row.queue for row in rows if row.cell == cell and row.label == row.queue + AGAIN)
