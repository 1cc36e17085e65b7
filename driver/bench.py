"""`./heddle bench`: hello servers and peers, paired with raw-epoll in every round."""
from __future__ import annotations

import json
import os
import re
import resource
import time
from dataclasses import dataclass, field
from pathlib import Path

from driver import environment, estimates, report, rounds, zoo
from driver.console import EXIT_CELLS_FAILED, EXIT_INTERRUPTED, Problem, UsageProblem, say
from driver.meson import BuildDirectory
from driver.rounds import Journal, Plan, Row
from driver.servers import Interrupt
from driver.wrk import Load

REFERENCE = "raw-epoll"
REFERENCE_AGAIN = "raw-epoll A'"
_UNITS_S = {"": 1, "s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class Request:
    """The command line, checked; `seconds` and `rounds` None mean what fits the budget."""

    words: list[str]
    server: str
    workers: int
    connections: int
    seconds: int | None
    rounds: int | None
    budget_s: float
    seed: int
    out: Path | None
    named_peers: dict[str, Path] = field(default_factory=dict)


def parse_duration(text: str) -> float:
    """Seconds in `90`, `240s`, `4m` or `1h`; ValueError otherwise."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if not match or float(match.group(1)) == 0:
        raise ValueError(f"'{text}' is not a duration such as 240s or 4m")
    return float(match.group(1)) * _UNITS_S[match.group(2)]


def select_rows(zoo_object: dict, words: list[str], server: str, build: Path) -> list[Row]:
    """The rows to measure, the reference excluded.

    FILTER words choose among the servers of every combination, beside which all peers stay as
    context; when only peers match, only those are measured. UsageProblem when nothing does.
    """
    servers = [entry for entry in zoo_object["servers"]
               if entry["name"] == f"{server}-{entry.get('combination')}"]
    peers = [entry for entry in zoo_object["peers"] if server in entry.get("protocols", [])]
    chosen = zoo.select(servers, words)
    beside = peers if chosen else zoo.select(peers, words)
    if words and not chosen and not beside and not zoo.matches(REFERENCE, words):
        raise zoo.nothing_matches(words, [entry["name"] for entry in servers + peers])
    rows = []
    for entry in chosen + beside:
        if not entry["available"]:
            say(f"heddle: {entry['name']} is {zoo.state(entry)}")
        elif entry["name"] != REFERENCE:
            rows.append(Row(entry["name"], str(build / entry["binary"]), entry.get("kind", "")))
    return rows


def reference_rows(zoo_object: dict, build: Path) -> list[Row]:
    """raw-epoll twice: A, to which every ratio is taken, and A', which shows the noise."""
    entry = next((peer for peer in zoo_object["peers"] if peer["name"] == REFERENCE), None)
    if entry is None or not entry["available"]:
        why = zoo.state(entry) if entry else "not among the peers of meson.build"
        raise Problem(f"the reference {REFERENCE} is {why}")
    binary = str(build / entry["binary"])
    return [Row(name, binary, entry.get("kind", "")) for name in (REFERENCE, REFERENCE_AGAIN)]


def named_rows(peers: dict[str, Path]) -> list[Row]:
    """Peers that Debian lacks, by the binaries that the user names; UsageProblem if unusable."""
    for name, path in peers.items():
        if not path.is_file() or not os.access(path, os.X_OK):
            raise UsageProblem(f"--peer {name}: {path} is not an executable file")
    return [Row(name, str(path), "named") for name, path in peers.items()]


def make_plan(request: Request, rows: list[Row]) -> Plan:
    """Two seconds a cell when that leaves seven rounds, else one."""
    seconds = request.seconds
    if seconds is None:
        per_row_s = request.budget_s / len(rows) / (request.rounds or 7)
        seconds = 2 if per_row_s >= 2 + rounds.CELL_OVERHEAD_S else 1
    load = Load(request.connections, request.workers, seconds)
    return Plan(tuple(rows), load, request.workers, request.seed, request.budget_s, request.rounds)


def announce(plan: Plan) -> None:
    """How many rounds of what, before the first one starts."""
    number = plan.expected_rounds()
    round_s = len(plan.rows) * (plan.load.seconds + rounds.CELL_OVERHEAD_S)
    why = "as asked" if plan.rounds else f"as fit into {plan.budget_s:g} s"
    say(f"heddle: {len(plan.rows)} rows, {number} round(s) {why}, {plan.load.seconds} s a cell, "
        f"about {number * round_s:.0f} s; seed {plan.seed}")
    if not plan.rounds and round_s > plan.budget_s:
        say("heddle: one round alone is longer than the budget: narrow it with FILTER words")


def make_directory(out: Path | None, build: Path) -> Path:
    """A new, empty directory for the results; UsageProblem when `out` already holds some."""
    if out is not None:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise UsageProblem(f"--out {out} exists and is not an empty directory")
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageProblem(f"--out {out}: {error.strerror}") from None
        return out
    stem = build / "bench" / time.strftime("results-%Y%m%d-%H%M%S")
    for suffix in ("", *(f"-{i}" for i in range(2, 100))):
        directory = stem.with_name(stem.name + suffix)
        try:
            directory.mkdir(parents=True)
            return directory
        except FileExistsError:
            continue
    raise Problem(f"{stem} and 98 more exist")


def _allow_many_connections() -> None:
    """Raise the soft limit of open files, which servers and wrk inherit, to the hard one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def compare(plan: Plan, facts: dict, directory: Path) -> int:
    """Measure the plan into `directory`, print the table, write the page. Returns the exit code."""
    facts = {**facts, "workers": plan.workers, "connections": plan.load.connections,
             "seconds_per_cell": plan.load.seconds, "seed": plan.seed}
    text = json.dumps(facts, indent=2) + "\n"
    (directory / "environment.json").write_text(text, encoding="utf-8")
    journal = Journal(directory)
    with Interrupt() as interrupt:
        records, interrupted = rounds.run(plan, journal, interrupt)
    journal.close()
    summaries = estimates.summarize(records, REFERENCE, plan.seed)
    again = next((summary for summary in summaries if summary.row == REFERENCE_AGAIN), None)
    done = max((summary.cpu_ratio.rounds for summary in summaries if summary.cpu_ratio), default=0)
    notes = [report.interval_note(done), f"ratios are to {REFERENCE} in the same round"]
    limits = report.limitations(facts["cores_usable"], environment.FEW_CORES)
    title = (f"heddle bench: {len(summaries)} rows, {done} rounds, "
             f"{plan.load.connections} connections")
    path = directory / "report.html"
    path.write_text(report.page(title, summaries, again, facts, notes, limits), encoding="utf-8")
    if interrupted:
        say(f"heddle: interrupted after {len(records)} cells; what was measured:")
    failed = sum(not record["ok"] for record in records)
    lines = [report.text_table(summaries), "", *notes, report.noise_line(again)]
    if failed:
        lines.append(f"{failed} of {len(records)} cells failed; rounds.jsonl has the reasons")
    lines += [f"data: {directory / 'rounds.jsonl'}", f"report: {path}", *reversed(limits)]
    print("\n".join(lines), flush=True)
    if interrupted:
        return EXIT_INTERRUPTED
    return EXIT_CELLS_FAILED if failed else 0


def run(request: Request, build: BuildDirectory, jobs: int | None) -> int:
    """The command, on a configured build directory."""
    zoo_object = zoo.load(build.path / "zoo.json")
    references = reference_rows(zoo_object, build.path)
    rows = references + select_rows(zoo_object, request.words, request.server, build.path)
    rows += named_rows(request.named_peers)
    plan = make_plan(request, rows)
    build.compile([os.path.relpath(row.binary, build.path) for row in rows], jobs)
    if build.option("optimization") in ("0", "g"):
        say("heddle: warning: this build is not optimised, its numbers mean little")
    _allow_many_connections()
    announce(plan)
    return compare(plan, environment.describe(build), make_directory(request.out, build.path))
