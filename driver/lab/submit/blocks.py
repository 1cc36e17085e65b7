"""Cuts a plan into blocks: one workload and a set of complete rounds, run on one machine.

Everything random inside a block follows from its seed, so the engine decides where a block runs and
nothing else. Each block is a results directory of its own, with its part of the plan in it.
"""
from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from driver.console import UsageProblem
from driver.lab import counts
from driver.lab import plan as plans
from driver.lab.campaign import Campaign
from driver.lab.plan import Plan

SCHEMA = "heddle-submission-1"
FOLDER = "blocks"
DONE = "done.json"


@dataclass(frozen=True)
class Job:
    """`block` is the plan's block, which is one workload; `part` counts from 1."""

    name: str
    block: int
    part: int
    workload: str
    rounds: int
    warmup_rounds: int
    seed: int
    expected_s: float

    @property
    def minutes(self) -> int:
        """What to ask a batch system for: twice the expected time and ten minutes to build."""
        return math.ceil(2 * self.expected_s / 60) + 10


@dataclass(frozen=True)
class Submission:
    """The same for every engine."""

    campaign: str
    seed: int
    parts: int
    jobs: tuple[Job, ...]


def seed_of(seed: int, part: int) -> int:
    """Parts have orders of their own, and the same ones wherever they run."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{part}".encode()).digest()[:4], "big")


def divide(plan: Plan, parts: int) -> Submission:
    """`parts` blocks for each workload, with rounds as even as can be. UsageProblem when a
    workload has fewer rounds than parts."""
    jobs = []
    for part in range(1, parts + 1):
        for block in plan.blocks:
            total = block.rounds or block.expected_rounds
            if total < parts:
                raise UsageProblem(f"--parts {parts}: {block.name} has {total} round(s); take "
                                   f"1 to {total}, or more rounds")
            rounds = total // parts + (part <= total % parts)
            jobs.append(Job(f"{block.number:02}-{block.name}-part-{part}".replace(" ", "-"),
                            block.number, part, block.workload, rounds, block.warmup_rounds,
                            seed_of(plan.seed, part),
                            round((rounds + block.warmup_rounds) * block.round_s, 1)))
    return Submission(plan.campaign, plan.seed, parts, tuple(jobs))


def plan_of(plan: Plan, job: Job) -> Plan:
    """The part of the plan that a job runs: its rounds are fixed, so time decides nothing."""
    blocks = tuple(replace(block, rounds=job.rounds, expected_rounds=job.rounds)
                   for block in plan.blocks if block.number == job.block)
    return replace(plan, seed=job.seed, blocks=blocks, budget_s=None, target_ci_percent=None)


def write(directory: Path, plan: Plan, campaign: Campaign, submission: Submission) -> None:
    """The plan, the list of blocks, and a directory for each."""
    (directory / "plan.json").write_text(plans.as_json(plan), encoding="utf-8")
    for job in submission.jobs:
        folder = directory / FOLDER / job.name
        folder.mkdir(parents=True)
        (folder / "plan.json").write_text(plans.as_json(plan_of(plan, job)), encoding="utf-8")
        (folder / "campaign.toml").write_text(campaign.text, encoding="utf-8")
        if campaign.counts and job.part == 1:
            (folder / counts.NAME).touch()  # asks for the counts, once
    content = {"schema": SCHEMA, **asdict(submission)}
    for job, entry in zip(submission.jobs, content["jobs"]):
        entry["minutes"] = job.minutes
    # Last, since a directory with this file counts as complete.
    (directory / "submission.json").write_text(json.dumps(content, indent=1) + "\n",
                                               encoding="utf-8")


def read(directory: Path) -> Submission:
    """What `write` left in a directory; UsageProblem when it is no submission."""
    path = directory / "submission.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["schema"] != SCHEMA:
            raise ValueError(f"schema {content['schema']}, not {SCHEMA}")
        jobs = tuple(Job(**{key: value for key, value in entry.items() if key != "minutes"})
                     for entry in content["jobs"])
        return Submission(content["campaign"], content["seed"], content["parts"], jobs)
    except OSError as error:
        raise UsageProblem(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise UsageProblem(f"{path} is no submission of heddle: {error}") from None


def outcome(directory: Path, job: Job) -> dict | None:
    """What a block left at its end (`exit`, `host`, `seconds`); None before that."""
    try:
        return json.loads((directory / FOLDER / job.name / DONE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
