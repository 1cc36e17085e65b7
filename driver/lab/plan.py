"""A plan: cells, rounds and their order, fixed by the campaign and one seed. It is plan.json."""
from __future__ import annotations

import json
import random
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

from driver.console import UsageProblem
from driver.lab.campaign import Noise
from driver.lab.cells import Cell

SCHEMA = "heddle-plan-1"
ORDER = "random per round from seed/block/round"
CELL_OVERHEAD_S = 0.2  # start, readiness, warm-up's own start, stop; for estimates before a run
MICRO_OVERHEAD_S = 0.1
RECORD_BYTES = 2200  # of rounds.jsonl
HISTOGRAM_BYTES = 120000


@dataclass(frozen=True)
class Block:
    """Cells that are interleaved with each other. `rounds` None: as many as the budget allows,
    about `expected_rounds`."""

    number: int
    name: str
    workload: str
    warmup_rounds: int
    rounds: int | None
    expected_rounds: int
    cells: tuple[Cell, ...]

    @property
    def total_rounds(self) -> int:
        return self.warmup_rounds + (self.rounds or self.expected_rounds)

    @property
    def round_s(self) -> float:
        return sum(expected_s(cell) for cell in self.cells)


@dataclass(frozen=True)
class Plan:
    """`budget_s` bounds the measuring time of a whole run, `target_ci_percent` ends it early."""

    campaign: str
    seed: int
    blocks: tuple[Block, ...]
    unavailable: tuple[dict, ...] = ()
    title: str = ""
    scale: str = ""
    published: tuple[str, ...] = ()
    budget_s: float | None = None
    target_ci_percent: float | None = None
    pin: str = "none"
    noise: Noise = field(default_factory=Noise)

    @property
    def cells(self) -> list[Cell]:
        return [cell for block in self.blocks for cell in block.cells]

    @property
    def reasons(self) -> dict[str, str]:
        """Why rows are unavailable."""
        return {entry["row"]: entry["reason"] for entry in self.unavailable}

    def planned_cells(self) -> int:
        """How many measurements the planned rounds hold, without retries and repeats."""
        return sum(block.total_rounds * len(block.cells) for block in self.blocks)

    def expected_s(self) -> float:
        """About how long the planned rounds take; the budget ends them."""
        total = sum(block.total_rounds * block.round_s for block in self.blocks)
        return total if self.budget_s is None else min(total, self.budget_s)

    def expected_bytes(self) -> int:
        """About how much disk the results take."""
        with_histogram = sum(block.total_rounds * len(block.cells) for block in self.blocks
                             if block.cells and block.cells[0].driver == "loadgen")
        return self.planned_cells() * RECORD_BYTES + with_histogram * HISTOGRAM_BYTES

    def block(self, number: int) -> Block:
        return next(block for block in self.blocks if block.number == number)


def expected_s(cell: Cell) -> float:
    """About how long one measurement takes, start and stop included."""
    parameters = cell.parameters
    duration = parameters.get("duration_s")
    if duration is None:
        duration = parameters["requests"] / parameters["expected_rps"]
    if cell.kind in ("queue", "fiber"):
        return duration * 1.1 + MICRO_OVERHEAD_S
    return duration + cell.warmup_s + CELL_OVERHEAD_S


def order_of(seed: int, block: Block, number: int) -> list[Cell]:
    """The order of one round: the same seed, block and round give the same one on any machine."""
    cells = list(block.cells)
    random.Random(f"{seed}/{block.number}/{number}").shuffle(cells)
    return cells


def chance_of(seed: int, cell: Cell, number: int, attempt: int) -> random.Random:
    """What is random about one measurement, whenever it is done."""
    return random.Random(f"{seed}/{cell.block}/{number}/{cell.cell}/{attempt}")


def only_blocks(plan: Plan, numbers: list[int]) -> Plan:
    """The part of a plan that one machine does; UsageProblem for a block that is not there."""
    known = [block.number for block in plan.blocks]
    for number in numbers:
        if number not in known:
            raise UsageProblem(f"--block: no block {number}; allowed: {', '.join(map(str, known))}")
    return replace(plan, blocks=tuple(b for b in plan.blocks if b.number in numbers))


def as_json(plan: Plan) -> str:
    """plan.json: everything that decides what is run in which order."""
    content = {"schema": SCHEMA, "campaign": plan.campaign, "title": plan.title,
               "scale": plan.scale, "published": list(plan.published), "seed": plan.seed,
               "rounds": max((b.rounds or b.expected_rounds for b in plan.blocks), default=0),
               "warmup_rounds": max((b.warmup_rounds for b in plan.blocks), default=0),
               "budget_s": plan.budget_s, "target_ci_percent": plan.target_ci_percent,
               "pin": plan.pin, "noise": asdict(plan.noise), "order": ORDER,
               "blocks": [{"block": b.number, "name": b.name, "workload": b.workload,
                           "warmup_rounds": b.warmup_rounds, "rounds": b.rounds,
                           "expected_rounds": b.expected_rounds, "cells": len(b.cells)}
                          for b in plan.blocks],
               "cells": [asdict(cell) for cell in plan.cells],
               "unavailable": list(plan.unavailable)}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def from_json(text: str, where: str) -> Plan:
    """The plan in `text`; UsageProblem when it is none."""
    try:
        content = json.loads(text)
        if content["schema"] != SCHEMA:
            raise ValueError(f"schema {content['schema']}, not {SCHEMA}")
        names = {one.name for one in fields(Cell)}
        cells = [Cell(**{key: tuple(value) if key == "run" else value
                         for key, value in entry.items() if key in names})
                 for entry in content["cells"]]
        blocks = tuple(Block(b["block"], b["name"], b["workload"], b["warmup_rounds"], b["rounds"],
                             b["expected_rounds"],
                             tuple(cell for cell in cells if cell.block == b["block"]))
                       for b in content["blocks"])
        return Plan(content["campaign"], content["seed"], blocks, tuple(content["unavailable"]),
                    content["title"], content["scale"], tuple(content["published"]),
                    content["budget_s"], content["target_ci_percent"], content["pin"],
                    Noise(**content["noise"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageProblem(f"{where} is no plan of heddle: {error}") from None


def read(directory: Path) -> Plan:
    """The plan of a results directory; UsageProblem when there is none."""
    path = directory / "plan.json"
    try:
        return from_json(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise UsageProblem(f"{directory} holds no results of heddle: plan.json: "
                           f"{error.strerror}") from None
