"""Cells of one server beside itself, and the runner that measures them in interleaved rounds."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from driver import zoo
from driver.console import Problem
from driver.lab import affinity, results
from driver.lab.campaign import Campaign
from driver.lab.cells import DEFAULT_RUN, Cell
from driver.lab.failures import Interrupt, Interrupted
from driver.lab.journal import Journal
from driver.lab.measure import Laboratory
from driver.lab.plan import Block, Plan
from driver.lab.runner import Runner

WORKLOAD = "imbalance"  # its short requests spin for as long as it is told, and nothing else
WORKERS = 2
CONNECTIONS = 16


@dataclass(frozen=True)
class Bench:
    """Where the self-test runs. `entry`: the server's line of zoo.json."""

    entry: dict
    build: Path
    directory: Path
    facts: dict
    seed: int
    interrupt: Interrupt


def choose(known: dict, words: list[str]) -> dict:
    """The first server of the workload that matches and can run; Problem with the reason."""
    servers = [entry for entry in known["servers"] if entry.get("protocol") == WORKLOAD]
    matching = zoo.select(servers, words)
    if not matching:
        raise zoo.nothing_matches(words, [entry["name"] for entry in servers])
    usable = [entry for entry in matching if entry["available"]]
    if not usable:
        raise Problem(f"{matching[0]['name']} is {zoo.state(matching[0])}")
    return usable[0]


def cell(bench: Bench, row: str, reference: str, short_us: int, seconds: float) -> Cell:
    """A cell whose server spins `short_us` in each request."""
    return Cell(
        cell=row, row=row, group="selftest", reference=reference, block=1, workload=WORKLOAD,
        kind="combination", sharing="", poller=None, scheduler=None, queue=None, driver="loadgen",
        run=tuple(bench.entry.get("run", DEFAULT_RUN)), binary=bench.entry["binary"], warmup_s=0.05,
        parameters={"workers": WORKERS, "connections": CONNECTIONS, "threads": 1,
                    "mode": "closed", "think_us": 0, "rate_rps": 0, "payload_bytes": 0,
                    "pipeline": 1, "duration_s": seconds, "tuning": {},
                    "workload": {"short_us": short_us, "long_percent": 0}})


def make_plan(bench: Bench, name: str, cells: list[Cell], rounds: int) -> Plan:
    """Rounds that hold each cell once, in an order that the seed decides."""
    return Plan(f"selftest-{name}", bench.seed,
                (Block(1, name, WORKLOAD, 0, rounds, rounds, tuple(cells)),))


def laboratory(bench: Bench, made: Plan, directory: Path) -> Laboratory:
    """What measuring cells of the plan into `directory` needs."""
    return Laboratory(made, directory, bench.build, bench.build / "cache",
                      bench.facts.get("build_hash") or "", bench.facts.get("host") or "",
                      affinity.choose(made.pin), bench.interrupt)


def measure(bench: Bench, made: Plan) -> list[dict]:
    """Really measures the plan into a directory of its own; Problem when a cell failed for good,
    since a self-test with holes shows nothing."""
    directory = bench.directory / made.campaign
    directory.mkdir(parents=True)
    results.start(directory, Campaign(made.campaign), made, bench.facts)
    results.allow_many_connections()
    journal = Journal(directory)
    try:
        outcome = Runner(laboratory(bench, made, directory), journal).run()
    finally:
        journal.close()
    if outcome.interrupted:
        raise Interrupted
    if outcome.stopped or outcome.failed_cells:
        reasons = [record["failure"] for record in outcome.records if not record["ok"]]
        raise Problem(f"{made.campaign}: {outcome.stopped or 'cells failed'}: "
                      f"{reasons[-1] if reasons else 'no reason recorded'}")
    return outcome.records
