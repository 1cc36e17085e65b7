"""`./heddle submit`: runs a campaign's blocks on one machine or on many."""
from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import time
from dataclasses import replace
from pathlib import Path

from driver import packages
from driver.commands.parser import ROOT, Parser, build_directory, groups, number
from driver.console import EXIT_CELLS_FAILED, EXIT_FAILED, Problem, UsageProblem, say
from driver.lab import bench, campaign, results
from driver.lab.submit import blocks, engines
from driver.lab.submit.blocks import Job
from driver.lab.submit.engines import Engine

LOG = "engine.log"
HOST = re.compile(r"(?:[A-Za-z0-9_.-]+@)?[A-Za-z0-9][A-Za-z0-9_.-]*")


def host_names(text: str) -> tuple[str, ...]:
    """`a,user@b` as names, each once; ArgumentTypeError for what is no name of a host."""
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if not HOST.fullmatch(name):
            raise argparse.ArgumentTypeError(f"'{name}' is not a host such as node1 or user@node1")
    return names


def left(directory: Path, jobs: tuple[Job, ...]) -> list[Job]:
    """Those that have not been measured to their end."""
    return [job for job in jobs if blocks.outcome(directory, job) is None]


def run(engine: Engine, directory: Path, dry_run: bool) -> int:
    """Hands over what is left of the submission in `directory`, waits, and says what came of it."""
    submission = blocks.read(directory)
    todo = left(directory, submission.jobs)
    say(f"heddle: {len(submission.jobs)} block(s) in {directory}, {len(todo)} left, about "
        f"{sum(job.expected_s for job in todo):.0f} s of measuring on one machine")
    if todo:
        words = engines.command(engine, directory, todo, dry_run)
        say(f"heddle: {shlex.join(words)}")
        _call(engine, directory, todo, words, dry_run)
    return 0 if dry_run else _summary(directory, submission.jobs)


def _call(engine: Engine, directory: Path, todo: list[Job], words: list[str], dry_run: bool
          ) -> None:
    if engine.name == "ssh" and not dry_run:
        engines.pack(directory, todo)
    path = directory / LOG
    if not dry_run:
        say(f"heddle: {words[0]} writes to {path}")
    try:
        with open(path, "a", encoding="utf-8") as log:
            code = subprocess.run(words, cwd=directory, env=engines.environment(engine),
                                  stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                  check=False).returncode
    finally:
        if engine.name == "ssh" and not dry_run:
            engines.unpack(directory, todo)
    if dry_run:
        print(path.read_text(encoding="utf-8", errors="replace"), end="")
    if code:
        say(f"heddle: {words[0]} ended with exit status {code}; {path} says why")
        if dry_run:
            raise Problem("the dry run failed")


def _summary(directory: Path, jobs: tuple[Job, ...]) -> int:
    """One line a block and the command that reads them all."""
    code = 0
    for job in jobs:
        found = blocks.outcome(directory, job)
        if found is None:
            code = EXIT_FAILED
            print(f"{job.name}: not finished; ./heddle submit {directory} goes on")
            continue
        note = "; some cells failed" if found["exit"] == EXIT_CELLS_FAILED else ""
        code = code or found["exit"]
        print(f"{job.name}: {job.rounds} round(s) on {found['host']} in {found['seconds']} s{note}")
    done = [str(directory / blocks.FOLDER / job.name) for job in jobs
            if blocks.outcome(directory, job)]
    if done:
        print(f"./heddle report {shlex.join(done)}")
    return code


def parse(words: list[str]) -> tuple[argparse.Namespace, tuple[str, ...]]:
    """The options of the command line, and the words after `--`, which are the engine's."""
    extra: list[str] = []
    if "--" in words:
        at = words.index("--")
        words, extra = words[:at], words[at + 1:]
    parser = Parser("submit", "Run a campaign in blocks: one workload and a set of complete rounds "
                    "on one machine each. Words after -- go to the engine.")
    add = parser.add_argument
    add("campaign", metavar="CAMPAIGN",
        help="a TOML file, a preset, or the directory of a submission, to go on with it")
    add("--engine", choices=tuple(engines.NEEDS), default="local", help="what hands them out")
    add("--hosts", type=host_names, default=(), metavar="A,B", help="for ssh")
    add("--parts", type=number(1, 10000), metavar="N",
        help="blocks for each workload (one a host)")
    add("--rounds", type=number(1, 10000), metavar="N", help="of each workload, over all parts")
    add("--seed", type=number(0, 2**32), metavar="N", help="of the plan")
    add("--cpus", type=number(1, 10000), default=os.cpu_count() or 1, metavar="N",
        help="processors of a block's machine, for slurm (as many as here)")
    add("--tree", type=Path, default=ROOT, metavar="DIR",
        help="heddle's directory on the machines that measure (this one)")
    add("--out", type=Path, metavar="DIR", help="the submission (build/submit/DATE-TIME)")
    add("--dry-run", action="store_true", help="write the plan and show the engine's commands")
    return parser.parse(words), tuple(extra)


def make(options: argparse.Namespace) -> Path:
    """A new submission directory for the campaign; UsageProblem for a bad one."""
    given = Path(options.campaign)
    is_file = given.suffix == ".toml"
    chosen = campaign.load(given) if is_file else campaign.preset(options.campaign)
    if options.rounds:
        chosen = replace(chosen.with_measures(rounds=options.rounds), rounds=options.rounds,
                         budget_s=None)
    if options.seed is not None:
        chosen = replace(chosen, seed=options.seed)
    packages.ensure(groups([]))
    build = build_directory("none", [])
    build.configure()
    made = bench.make_plan(bench.Request(chosen), build)
    parts = options.parts or max(1, len(options.hosts))
    submission = blocks.divide(made, parts)
    for entry in {entry["row"]: entry for entry in made.unavailable}.values():
        say(f"heddle: {entry['row']} is unavailable here: {entry['reason']}")
    out = options.out.absolute() if options.out else build.path / "submit" / time.strftime(
        "%Y%m%d-%H%M%S")
    directory = results.make_directory(out, build.path)
    blocks.write(directory, made, chosen, submission)
    return directory


def command_submit(words: list[str]) -> int:
    """Exit codes: 0, 1 a block has not finished, 2 usage, 3 some cells failed."""
    options, extra = parse(words)
    engine = Engine(options.engine, options.tree, options.hosts, options.cpus, extra)
    engines.check(engine)
    given = Path(options.campaign)
    if (given / "submission.json").is_file():
        for name in ("parts", "rounds", "seed", "out"):
            if getattr(options, name) is not None:
                raise UsageProblem(f"submit: --{name} is fixed by the submission in {given}")
        return run(engine, given.absolute(), options.dry_run)
    return run(engine, make(options), options.dry_run)
