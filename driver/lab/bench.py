"""Runs a campaign from plan to table: what `bench`, `plan`, `resume` and `count` share."""
from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path

from driver import analysis, zoo
from driver.console import (EXIT_CELLS_FAILED, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_QUALITY_GATE,
                            Problem, UsageProblem, say)
from driver.lab import counts, drivers, leftovers, plan, planning, results, values
from driver.lab.campaign import Campaign
from driver.lab.failures import Interrupt
from driver.lab.journal import Journal
from driver.lab.plan import Plan
from driver.lab.page import page_of
from driver.lab.runner import Result, Runner
from driver.meson import BuildDirectory


@dataclass(frozen=True)
class Request:
    """The command line, checked: a campaign with its changes already in it."""

    campaign: Campaign
    words: list[str] = field(default_factory=list)
    named: dict[str, Path] = field(default_factory=dict)
    blocks: list[int] = field(default_factory=list)
    out: Path | None = None


def check_named(peers: dict[str, Path]) -> None:
    """UsageProblem for a binary of the user's that cannot be run."""
    for name, path in peers.items():
        if not path.is_file() or not os.access(path, os.X_OK):
            raise UsageProblem(f"--peer {name}: {path} is not an executable file")


def make_plan(request: Request, build: BuildDirectory) -> Plan:
    """The plan of a request on a configured build directory."""
    check_named(request.named)
    known = zoo.load(build.path / "zoo.json")
    seed = request.campaign.seed
    if seed is None:
        seed = random.SystemRandom().randrange(2**32)
    made = planning.make(request.campaign, known, planning.Choice(request.words, request.named),
                         seed, build.outputs())
    if request.blocks:
        made = plan.only_blocks(made, request.blocks)
    planning.check_drivers(made)
    return made


def compile_for(made: Plan, build: BuildDirectory, jobs: int | None) -> None:
    """Builds the servers and generators of a plan; warns of a build that is not optimised."""
    outputs = {drivers.named(cell.driver).output for cell in made.cells}
    for cell in made.cells:
        outputs.add(os.path.relpath(build.path / cell.binary, build.path) if cell.binary else "")
        outputs.update(word.removeprefix("{build}/") for word in cell.run
                       if word.startswith("{build}/"))
    build.compile(sorted(outputs - {""}), jobs)
    if build.option("optimization") in ("0", "g"):
        say("heddle: warning: this build is not optimised, its numbers mean little")


def summary(made: Plan) -> list[str]:
    """How many rounds of what, in lines for a person."""
    lines = []
    for block in made.blocks:
        number = block.rounds or block.expected_rounds
        why = "as asked" if block.rounds else f"as fit into {made.budget_s:g} s"
        parameters = block.cells[0].parameters
        load = (f"{parameters['duration_s']:g} s" if "duration_s" in parameters
                else f"{parameters['requests']} requests")
        warmup = f" after {block.warmup_rounds} of warm-up" if block.warmup_rounds else ""
        name = f"{block.name}: " if len(made.blocks) > 1 else ""
        lines.append(f"{name}{len(block.cells)} rows, {number} round(s) {why}{warmup}, {load} a "
                     f"cell, about {values.span(block.total_rounds * block.round_s)}")
    rest = f"seed {made.seed}"
    if made.scale:
        rest += f"; scale {made.scale}"
    if len(made.blocks) > 1:
        lines.append(f"{len(made.cells)} cells, {made.planned_cells()} measurements, about "
                     f"{values.span(made.expected_s())}; {rest}")
    else:
        lines[0] += f"; {rest}"
    return lines


def announce(made: Plan) -> None:
    """Says the summary, what is missing and why, and a budget that is too small."""
    for row, reason in made.reasons.items():
        say(f"heddle: {row} is unavailable: {reason}")
    for line in summary(made):
        say(f"heddle: {line}")
    first_s = sum(block.round_s for block in made.blocks)
    if made.budget_s is not None and first_s > made.budget_s:
        say("heddle: one round alone is longer than the budget: narrow it with FILTER words")


def run(request: Request, build: BuildDirectory, jobs: int | None) -> int:
    """`bench`: a new results directory, all rounds, the table. Returns the exit code."""
    made = make_plan(request, build)
    compile_for(made, build, jobs)
    announce(made)
    facts = results.facts_of(build, made)
    directory = results.make_directory(request.out, build.path)
    results.start(directory, request.campaign, made, facts)
    return measure(directory, made, build, facts, request.campaign.counts)


def resume(directory: Path, build: BuildDirectory, jobs: int | None) -> int:
    """`resume`: what is left of the plan in a directory. Returns the exit code."""
    made = plan.read(directory)
    compile_for(made, build, jobs)
    facts = results.facts_in(directory)
    results.warn_of_changes(facts, results.facts_of(build, made))
    return measure(directory, made, build, facts, (directory / counts.NAME).exists())


def measure(directory: Path, made: Plan, build: BuildDirectory, facts: dict, with_counts: bool
            ) -> int:
    """Rounds, then counts if wanted, then the end."""
    journal = Journal(directory)
    leftovers.end(directory)
    leftovers.mark(directory)
    try:
        with Interrupt() as interrupt:
            lab = results.laboratory(directory, made, build, facts, interrupt)
            runner = Runner(lab, journal)
            if runner.progress.records:
                say(f"heddle: {len(runner.progress.records)} measurements are there already")
            result = runner.run()
            journal.close()
            if with_counts and not result.interrupted and not result.stopped:
                _, result.interrupted = counts.run(lab)
    finally:
        journal.close()
    return finish(directory, made, result)


def finish(directory: Path, made: Plan, result: Result) -> int:
    """The table, the page, where things are. Returns the exit code."""
    if result.interrupted:
        say(f"heddle: interrupted after {len(result.records)} measurements; "
            f"./heddle resume {directory} goes on; what was measured:")
    if result.stopped:
        say(f"heddle: {result.stopped}")
    lines = []
    try:
        lines.append(analysis.terminal(directory))
        page = page_of(directory)
    except (Problem, OSError) as problem:
        say(f"heddle: {problem}")
        page = None
    failed = result.failed_cells
    if failed:
        lines.append(f"{failed} of {result.cells} cells failed; rounds.jsonl has the reasons")
    if made.scale:
        lines.append(f"scale {made.scale}")
    lines.append(f"data: {directory / 'rounds.jsonl'}")
    if page:
        lines.append(f"report: {page}")
    print("\n".join(lines), flush=True)
    if result.interrupted:
        return EXIT_INTERRUPTED
    if failed:
        return EXIT_CELLS_FAILED
    if result.stopped:
        return EXIT_FAILED
    noisy = result.noisy_percent
    if noisy > made.noise.most_noisy_percent:
        say(f"heddle: quality gate: {noisy:.0f} % of the measurements are noisy, more than the "
            f"campaign's {made.noise.most_noisy_percent:g} %")
        return EXIT_QUALITY_GATE
    return 0


def count(request: Request, build: BuildDirectory, jobs: int | None) -> int:
    """`count`: only the untimed counts. Returns the exit code."""
    made = make_plan(request, build)
    compile_for(made, build, jobs)
    for row, reason in made.reasons.items():
        say(f"heddle: {row} is unavailable: {reason}")
    facts = results.facts_of(build, made)
    directory = results.make_directory(request.out, build.path)
    results.start(directory, request.campaign, made, facts)
    with Interrupt() as interrupt:
        lab = results.laboratory(directory, made, build, facts, interrupt)
        records, interrupted = counts.run(lab)
    failed = sum(not record["ok"] for record in records)
    print(counts.table(records))
    if failed:
        print(f"{failed} of {len(records)} cells failed; {counts.NAME} has the reasons")
    print(f"data: {directory / counts.NAME}", flush=True)
    if interrupted:
        return EXIT_INTERRUPTED
    return EXIT_CELLS_FAILED if failed else 0
