"""A server beside itself: how often does the lab find a difference where there is none?

Each measured round holds `ROWS` cells of one and the same server, each a process of its own, in
random order. A comparison takes `ROUNDS` of them and gives the cells of each round roles by chance:
the reference A, A' and the rows. The cells of a round are exchangeable, so the roles are as good as
those that a plan would have given them before. Then the project's own code compares and judges.

A partition cuts the measured rounds into sets without a round in common. The comparisons of one
partition share no round between sets, and share A and A' within a set, as in any campaign. What a
second partition adds are the same measurements in other sets and roles: it is a new comparison, but
no new measurement. The numbers of both kinds are told apart in the result.
"""
from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from driver.analysis.comparison import compare
from driver.analysis.records import Directory, Results
from driver.analysis.verdicts import FASTER, SLOWER
from driver.lab.selftests.bench_cells import Bench, cell, make_plan, measure
from driver.lab.selftests.binomial import clopper_pearson

ROWS = 10           # compared with the reference in each set, beside A'
ROUNDS = 8          # of one comparison
SECONDS = 0.2       # of load for each cell
COMPARISONS = 400   # at least
MOST_FALSE = 0.05
METRICS = ("throughput_rps", "cpu_us_per_request")


@dataclass(frozen=True)
class Count:
    """Of one metric: verdicts faster or slower, and intervals without 1, among comparisons."""

    comparisons: int
    false_findings: int
    intervals_without_one: int

    @property
    def interval(self) -> tuple[float, float]:
        return clopper_pearson(self.false_findings, self.comparisons)


def roles() -> list[tuple[str, str]]:
    """(row, reference mark) of the cells of one set."""
    return [("A", "A"), ("A A'", "A'"), *((f"again {i}", "") for i in range(1, ROWS + 1))]


def run(bench: Bench, rounds: int) -> list[dict]:
    """Measures the rounds."""
    cells = [cell(bench, row, mark, 0, SECONDS) for row, mark in roles()]
    return measure(bench, make_plan(bench, "same", cells, rounds))


def partitions(rounds: int, seed: int, comparisons: int) -> list[list[list[int]]]:
    """Numbers of rounds in sets of ROUNDS, in as many partitions as hold so many comparisons. The
    first is in the order of measuring; the others are drawn."""
    sets = rounds // ROUNDS
    chance = random.Random(f"{seed}/partitions")
    found = []
    while len(found) * sets * ROWS < comparisons:
        numbers = list(range(rounds))
        if found:
            chance.shuffle(numbers)
        found.append([numbers[i * ROUNDS:(i + 1) * ROUNDS] for i in range(sets)])
    return found


def with_roles(rounds: list[list[dict]], chance: random.Random) -> list[dict]:
    """Records of one set, renumbered from 1, with roles by chance. Latency is left out: the
    self-test counts METRICS, and quantiles of so short a load say nothing."""
    records = []
    for number, cells in enumerate(rounds, 1):
        shuffled = chance.sample(cells, len(cells))
        for record, (row, mark) in zip(shuffled, roles()):
            records.append({**record, "cell": row, "row": row, "reference": mark,
                            "round": number, "latency_ns": None})
    return records


def judge(records: list[dict], seed: int) -> dict[str, list[tuple[bool, bool]]]:
    """By metric, for each row: was a difference found, and does the interval leave 1 out."""
    made = {"seed": seed, "cells": [
        {key: record[key] for key in ("cell", "row", "group", "reference", "workload", "kind",
                                      "parameters")}
        for record in records if record["round"] == 1]}
    comparison = compare(Results([Directory(Path("."), records, made)]))
    found: dict[str, list[tuple[bool, bool]]] = {name: [] for name in METRICS}
    for _, row in comparison.rows():
        if row.cell["reference"]:
            continue
        for name in METRICS:
            one = row.metrics[name]
            if one.ratio is not None:
                found[name].append((one.verdict in (FASTER, SLOWER),
                                    not one.ratio.low <= 1 <= one.ratio.high))
    return found


def count(records: list[dict], seed: int, comparisons: int = COMPARISONS
          ) -> tuple[dict[str, Count], dict[str, Count]]:
    """Over all partitions, and over the first alone, whose sets share no measurement."""
    by_round: dict[int, list[dict]] = {}
    for record in records:
        if record["ok"]:
            by_round.setdefault(record["round"], []).append(record)
    rounds = [cells for _, cells in sorted(by_round.items())]
    chance = random.Random(f"{seed}/roles")
    every: dict[str, list[tuple[bool, bool]]] = {name: [] for name in METRICS}
    first: dict[str, Count] = {}
    for sets in partitions(len(rounds), seed, comparisons):
        for numbers in sets:
            chosen = with_roles([rounds[i] for i in numbers], chance)
            for name, found in judge(chosen, seed).items():
                every[name] += found
        first = first or _counts(every)
    return _counts(every), first


def _counts(found: dict[str, list[tuple[bool, bool]]]) -> dict[str, Count]:
    return {name: Count(len(each), sum(is_found for is_found, _ in each),
                        sum(without for _, without in each))
            for name, each in found.items()}
