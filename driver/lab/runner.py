"""Measures a plan: interleaved rounds, retries, repeats of noisy rounds, a line of progress."""
from __future__ import annotations

from dataclasses import dataclass

from driver.console import Progress as Bar
from driver.console import clock_time, say
from driver.lab import values
from driver.lab.cells import Cell
from driver.lab.failures import Interrupted, RunStopped
from driver.lab.journal import Journal
from driver.lab.measure import Laboratory, Turn, measure
from driver.lab.plan import Block, order_of
from driver.lab.progress import Progress


@dataclass
class Result:
    """How a run ended: all records of the directory, and why it stopped before its end, if so."""

    records: list[dict]
    interrupted: bool = False
    stopped: str = ""

    def _last(self) -> dict[tuple, dict]:
        """The last attempt of every cell in every round."""
        return {(record["block"], record["round"], record["cell"]): record
                for record in self.records}

    @property
    def cells(self) -> int:
        """How many cells were measured, each once a round."""
        return len(self._last())

    @property
    def failed_cells(self) -> int:
        """Cells of a round that failed in their last attempt."""
        return sum(not record["ok"] for record in self._last().values())

    @property
    def noisy_percent(self) -> float:
        """The share of noisy ones among the measurements that count."""
        good = [record for record in self.records if record["ok"] and not record["warmup"]]
        noisy = sum(record["verdict"] == "noisy" for record in good)
        return 100 * noisy / len(good) if good else 0.0


class Runner:
    """One process that works a plan off, from wherever the journal says that it is."""

    def __init__(self, lab: Laboratory, journal: Journal):
        self.lab = lab
        self.plan = lab.plan
        self.journal = journal
        self.progress = Progress(lab.plan, journal.recover())
        self.bar = Bar()
        self.measured = 0

    def run(self) -> Result:
        """All rounds that are left, then repeats of noisy ones."""
        result = Result(self.progress.records)
        try:
            while (step := self.progress.next_round()) is not None:
                block, number = step
                self._round(block, number, None)
                if not any(record["ok"] for record in self.progress.records):
                    result.stopped = "not one cell of the first round could be measured"
                    break
            while not result.stopped and (again := self.progress.noisy_round()) is not None:
                block, number, original = again
                self._say(f"heddle: {block.name}: repeating round {original}, which was noisy")
                self._round(block, number, original)
        except Interrupted:
            result.interrupted = True
        except RunStopped as stopped:
            result.stopped = str(stopped)
        self.bar.clear()
        if not (result.interrupted or result.stopped):
            self._say_early_end()
        return result

    def _say(self, line: str) -> None:
        self.bar.clear()
        say(line)

    def _round(self, block: Block, number: int, repeats: int | None) -> None:
        warmup = repeats is None and number <= block.warmup_rounds
        for position, cell in enumerate(order_of(self.plan.seed, block, number), 1):
            while (attempt := self.progress.attempt_of(cell, number)) is not None:
                self._show(block, number, cell)
                self.lab.interrupt.check()
                record, histogram = measure(cell, self.lab,
                                            Turn(number, position, attempt, warmup, repeats))
                self.journal.append(record, histogram)
                self.progress.add(record)
                self.measured += 1
                if not record["ok"]:
                    again = "; trying once more" if attempt == 1 else ""
                    self._say(f"heddle: round {number}: {cell.row} failed: "
                              f"{record['failure']}{again}")
        if not self.bar.live:
            self._say(self._line(block, number))

    def _total(self, block: Block) -> int:
        """How many rounds the block will have, as far as is known now."""
        done = self.progress.rounds_done(block)
        if block.rounds is not None or self.plan.budget_s is None:
            return max(done, block.total_rounds)
        left_s = self.plan.budget_s - self.progress.elapsed_s
        fitting = int(left_s / (self.progress.round_s(block) * len(self.plan.blocks)))
        return max(1, done + max(0, fitting))

    def left_s(self) -> float:
        """About how long the rest takes."""
        left_s = sum((self._total(block) - self.progress.rounds_done(block))
                     * self.progress.round_s(block) for block in self.plan.blocks)
        if self.plan.budget_s is not None:
            left_s = min(left_s, max(0.0, self.plan.budget_s - self.progress.elapsed_s))
        return left_s

    def _line(self, block: Block, number: int) -> str:
        kind = " (warm-up)" if number <= block.warmup_rounds else ""
        name = f"{block.name}: " if len(self.plan.blocks) > 1 else ""
        total = self._total(block)
        left_s = self.left_s()
        end = f", ends about {clock_time(left_s)}" if left_s > 0 and number < total else ""
        return (f"heddle: {name}round {number} of {max(total, number)}{kind}: "
                f"{len(block.cells)} cells, {values.span(self.progress.elapsed_s)} so far{end}")

    def _show(self, block: Block, number: int, cell: Cell) -> None:
        if self.bar.live:
            total = sum(self._total(one) * len(one.cells) for one in self.plan.blocks)
            self.bar.show(self.measured, max(total - len(self.progress.records) + self.measured,
                                             self.measured + 1),
                          f"round {number}/{self._total(block)} {cell.row}")

    def _say_early_end(self) -> None:
        for block in self.plan.blocks:
            done = self.progress.rounds_done(block) - block.warmup_rounds
            if block.rounds is None or done >= block.rounds:
                continue
            why = "the budget is used up" if self.plan.target_ci_percent is None else (
                "the target interval is reached, or the budget is used up")
            self._say(f"heddle: {block.name}: {max(done, 0)} of {block.rounds} rounds: {why}")
