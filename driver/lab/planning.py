"""Makes a plan: expands a campaign over the zoo, fits cells and rounds to the time there is."""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from driver import zoo
from driver.console import UsageProblem
from driver.lab import cells, drivers, microbenchmarks
from driver.lab.campaign import Campaign, Measure
from driver.lab.plan import Block, Plan, expected_s

FEWEST_ROUNDS = 7  # that the choice of seconds leaves room for
SECONDS = (2, 1, 0.5, 0.25, 0.2)
WHOLE_SECONDS = (2, 1)  # for drivers that know no others


@dataclass(frozen=True)
class Choice:
    """What the command line adds to a campaign."""

    words: list[str] = field(default_factory=list)
    named: dict[str, Path] = field(default_factory=dict)


def make(campaign: Campaign, known: dict, choice: Choice, seed: int, available: set[str]) -> Plan:
    """The plan. `available`: outputs that the build can make, for the choice of a driver.

    UsageProblem when the words match nothing; `check_drivers` looks at the drivers.
    """
    found: list[tuple[Measure, int, cells.Expansion]] = []
    names: list[str] = []
    for number, measure in enumerate(campaign.measures, 1):
        driver = drivers.choose(measure.driver, available)
        if measure.is_microbenchmark:
            expansion, all_names = microbenchmarks.expand(known, measure, number, choice.words)
        else:
            expansion, all_names = cells.expand_servers(
                known, measure, number, driver, choice.words, choice.named)
        names += all_names
        found.append((measure, number, expansion))
    if not any(expansion.cells for _, _, expansion in found):
        unusable = [entry for _, _, expansion in found for entry in expansion.unavailable]
        if unusable:
            raise UsageProblem(f"{unusable[0]['row']} is unavailable: {unusable[0]['reason']}")
        raise zoo.nothing_matches(choice.words, list(dict.fromkeys(names)))
    found = [(measure, number, _with_load(measure, expansion, campaign))
             for measure, number, expansion in found]
    blocks = _blocks(campaign, [one for one in found if one[2].cells])
    plan = Plan(campaign.name, seed, tuple(blocks),
                tuple(entry for _, _, expansion in found for entry in expansion.unavailable),
                campaign.title, campaign.scale, campaign.published, campaign.budget_s,
                campaign.target_ci_percent, campaign.pin, campaign.noise)
    cells.check_unique(campaign, plan.cells)
    return plan


def check_drivers(plan: Plan) -> None:
    """UsageProblem when a driver cannot do what a cell asks."""
    for cell in plan.cells:
        drivers.named(cell.driver).check(cell)


def _with_load(measure: Measure, expansion: cells.Expansion, campaign: Campaign
               ) -> cells.Expansion:
    """Fixes how long a cell takes where the campaign leaves it open: the longest time that leaves
    seven rounds in the budget, if any does."""
    def loaded(cell: cells.Cell, seconds: float | None) -> cells.Cell:
        parameters = {**cell.parameters}
        if "requests" in parameters:
            parameters["expected_rps"] = measure.expected_rps
        else:
            parameters["duration_s"] = seconds
        return replace(cell, parameters=parameters)
    seconds = measure.seconds
    if seconds is None and measure.is_microbenchmark:
        seconds = 0.1
    if seconds is None and expansion.cells:
        rounds = measure.rounds or campaign.rounds or FEWEST_ROUNDS
        budget_s = campaign.budget_s or 60.0 * len(expansion.cells)
        per_cell_s = budget_s / len(expansion.cells) / len(campaign.measures) / rounds
        choices = SECONDS if expansion.cells[0].driver == "loadgen" else WHOLE_SECONDS
        seconds = next((one for one in choices
                        if per_cell_s >= expected_s(loaded(expansion.cells[0], one))), choices[-1])
    return cells.Expansion([loaded(cell, seconds) for cell in expansion.cells],
                           expansion.unavailable)


def _blocks(campaign: Campaign, found: list[tuple[Measure, int, cells.Expansion]]) -> list[Block]:
    blocks = []
    for measure, number, expansion in found:
        rounds = measure.rounds or campaign.rounds
        warmup = campaign.warmup_rounds if measure.warmup_rounds is None else measure.warmup_rounds
        block = Block(number, measure.name, measure.workload, warmup, rounds, rounds or 1,
                      tuple(expansion.cells))
        if rounds is None:
            share_s = (campaign.budget_s or 0) / len(found)
            fitting = int(share_s / block.round_s) - warmup
            block = replace(block, expected_rounds=max(1, fitting))
        blocks.append(block)
    return blocks
