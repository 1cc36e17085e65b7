"""How far a run is, from its plan and its records alone; so a resumed run goes on exactly there."""
from __future__ import annotations

import math
import statistics
from collections import defaultdict

from driver.lab.cells import Cell
from driver.lab.plan import Block, Plan

FEWEST_ROUNDS_FOR_INTERVAL = 6  # the range of n values covers their median with 1 - 2^(1-n)
MOST_ATTEMPTS = 2


class Progress:
    """Counts what is done. A cell of a round is done when it succeeded or failed twice."""

    def __init__(self, plan: Plan, records: list[dict]):
        self.plan = plan
        self.records: list[dict] = []
        self._attempts: dict[tuple[int, int, str], tuple[int, bool]] = {}
        # by block: round and the one that it repeats
        self._repeats: dict[int, dict[int, int]] = defaultdict(dict)
        self._elapsed_s: dict[int, float] = defaultdict(float)
        for record in records:
            self.add(record)

    def add(self, record: dict) -> None:
        """One more record, in the order of the file."""
        self.records.append(record)
        key = record["block"], record["round"], record["cell"]
        self._attempts[key] = record["attempt"], record["ok"]
        self._elapsed_s[record["block"]] += record["elapsed_s"]
        if record.get("repeats") is not None:
            self._repeats[record["block"]][record["round"]] = record["repeats"]

    @property
    def elapsed_s(self) -> float:
        """Measuring time so far, over all runs of the plan."""
        return sum(self._elapsed_s.values())

    def attempt_of(self, cell: Cell, number: int) -> int | None:
        """Which attempt is next for the cell in this round; None when it is done."""
        attempts, ok = self._attempts.get((cell.block, number, cell.cell), (0, False))
        return None if ok or attempts >= MOST_ATTEMPTS else attempts + 1

    def is_done(self, block: Block, number: int) -> bool:
        return all(self.attempt_of(cell, number) is None for cell in block.cells)

    def rounds_done(self, block: Block) -> int:
        """Complete rounds from the first on, warm-up included."""
        number = 0
        while self.is_done(block, number + 1):
            number += 1
        return number

    def round_s(self, block: Block) -> float:
        """What a round of the block takes: as measured, else as estimated."""
        done = self.rounds_done(block)
        return self._elapsed_s[block.number] / done if done else block.round_s

    def next_round(self) -> tuple[Block, int] | None:
        """The block that is furthest behind its plan, and its next round; None at the end. A round
        that was begun is finished, whatever the budget."""
        waiting = []
        for block in self.plan.blocks:
            done = self.rounds_done(block)
            begun = any((block.number, done + 1, cell.cell) in self._attempts
                        for cell in block.cells)
            is_repeat = done + 1 in self._repeats[block.number]
            if not is_repeat and (begun or self._may_begin(block, done)):
                waiting.append((done / block.total_rounds, block.number, block, done + 1))
        if not waiting:
            return None
        _, _, block, number = min(waiting, key=lambda one: one[:2])
        return block, number

    def _may_begin(self, block: Block, done: int) -> bool:
        if block.rounds is not None and done >= block.warmup_rounds + block.rounds:
            return False
        if done <= block.warmup_rounds and self.plan.budget_s is None:
            return True
        if done and self.plan.budget_s is not None:
            if self.elapsed_s + self.round_s(block) > self.plan.budget_s:
                return False
        return not self._target_reached(block, done - block.warmup_rounds)

    def _target_reached(self, block: Block, rounds: int) -> bool:
        target = self.plan.target_ci_percent
        if target is None or rounds < FEWEST_ROUNDS_FOR_INTERVAL:
            return False
        widths = [half_width_percent(ratios) for ratios in self._ratios(block).values()]
        return bool(widths) and max(widths) <= target

    def _ratios(self, block: Block) -> dict[str, list[float]]:
        """Per cell the ratios to the reference of the same round: of processor time per request, or
        of a microbenchmark's value."""
        base: dict[tuple[str, int], float] = {}
        good = [record for record in self.records if record["block"] == block.number
                and record["ok"] and not record["warmup"] and record.get("repeats") is None]
        for record in good:
            if record["reference"] == "A":
                base[record["group"], record["round"]] = leading_value(record)
        found = defaultdict(list)
        for record in good:
            other = base.get((record["group"], record["round"]))
            value = leading_value(record)
            if other and value and record["reference"] != "A":
                found[record["cell"]].append(value / other)
        return found

    def noisy_round(self) -> tuple[Block, int, int] | None:
        """The next repeat: its block, its own number, and the noisy round that it does again; one
        that was begun comes first. None when there is none left, or none is allowed."""
        for block in self.plan.blocks:
            repeats = self._repeats[block.number]
            for number, original in sorted(repeats.items()):
                if not self.is_done(block, number):
                    return block, number, original
        budget_s = self.plan.budget_s
        for block in self.plan.blocks:
            repeats = self._repeats[block.number]
            if len(repeats) >= self.plan.noise.most_repeats:
                continue
            if budget_s is not None and self.elapsed_s + self.round_s(block) > budget_s:
                continue
            for number in self._noisy_rounds(block):
                if number not in repeats.values():
                    return block, self.rounds_done(block) + 1, number
        return None

    def _noisy_rounds(self, block: Block) -> list[int]:
        """Measured rounds whose cells lost, on average, more than the plan allows."""
        by_round = defaultdict(list)
        for record in self.records:
            if (record["block"] == block.number and record["ok"] and not record["warmup"]
                    and record.get("repeats") is None):
                by_round[record["round"]].append(record["noise"])
        limits = self.plan.noise
        return sorted(number for number, found in by_round.items() if
                      statistics.fmean(one["steal_percent"] for one in found)
                      > limits.steal_percent or
                      statistics.fmean(one["foreign_cpu_percent"] for one in found)
                      > limits.foreign_cpu_percent)


def leading_value(record: dict) -> float | None:
    """What a row is judged by: processor time per request, or a microbenchmark's value."""
    if record["server"]:
        return record["server"]["cpu_us_per_request"]
    return record["value"]


def half_width_percent(ratios: list[float]) -> float:
    """Half of the 95 % interval of the median's logarithm, in percent: between order statistics, so
    that no distribution is assumed. Infinite for fewer than six values."""
    count = len(ratios)
    if count < FEWEST_ROUNDS_FOR_INTERVAL:
        return math.inf
    ordered = sorted(map(math.log, ratios))
    below, chance = 0, 0.5 ** count  # chance: of at most `below` values under the median
    while below + 1 < count // 2:
        more = chance + math.comb(count, below + 1) * 0.5 ** count
        if more > 0.025:
            break
        below, chance = below + 1, more
    return 100 * (math.exp((ordered[-1 - below] - ordered[below]) / 2) - 1)
