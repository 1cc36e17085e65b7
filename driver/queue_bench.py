"""`./heddle bench queues`: fresh processes, each queue of a cell once a round, beside a reference."""
from __future__ import annotations

import json
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path

from driver import environment, queue_estimates, queue_report, rounds, zoo
from driver.console import EXIT_CELLS_FAILED, EXIT_INTERRUPTED, Progress, say
from driver.lab.failures import Interrupt, Interrupted, describe_exit
from driver.lab.journal import Journal
from driver.lab.results import make_directory
from driver.meson import BuildDirectory
from driver.queue_cells import (PROGRAM, REFERENCES, Choice, QueueRow, choose_workloads, make_rows,
                                program_of, rules_of, split_words)

SCHEMA = "heddle-queue-rounds-1"
FEWEST_RUNS = 10  # of each row, when the budget decides
SHORTEST_MS, LONGEST_MS = 5, 200
RUN_OVERHEAD_S = 0.02  # start, calibration, warm-up beside its tenth; only for the first estimate
COUNT_MS = 5  # of the untimed runs
RUN_TIMEOUT_S = 150  # the program measures for a minute at most, and gives up a minute later
RESULT_SCHEMA = "heddle-queue-bench-1"


@dataclass(frozen=True)
class Request:
    """The command line, checked; `duration_ms` and `rounds` None mean what fits the budget."""

    choice: Choice
    duration_ms: int | None
    rounds: int | None
    budget_s: float
    seed: int
    out: Path | None


@dataclass(frozen=True)
class Plan:
    """Rounds of all rows; `budget_s` is what the timed rounds may take."""

    rows: tuple[QueueRow, ...]
    duration_ms: int
    seed: int
    budget_s: float
    rounds: int | None = None

    @property
    def round_s(self) -> float:
        return len(self.rows) * run_s(self.duration_ms)

    def expected_rounds(self) -> int:
        return self.rounds or max(1, int(self.budget_s / self.round_s))


def run_s(duration_ms: float) -> float:
    """About how long one process of so much measured time takes."""
    return duration_ms * 1.1e-3 + RUN_OVERHEAD_S


def make_plan(request: Request, rows: list[QueueRow]) -> Plan:
    """The longest runs of which ten a row fit into the budget, beside the untimed ones."""
    budget_s = max(0.0, request.budget_s - len(rows) * run_s(COUNT_MS))
    duration_ms = request.duration_ms
    if duration_ms is None:
        each_s = budget_s / len(rows) / (request.rounds or FEWEST_RUNS)
        fitting_ms = int((each_s * 0.97 - RUN_OVERHEAD_S) / 1.1e-3)
        duration_ms = min(LONGEST_MS, max(SHORTEST_MS, fitting_ms))
    return Plan(tuple(rows), duration_ms, request.seed, budget_s, request.rounds)


def announce(plan: Plan) -> None:
    """How many rounds of what, before the first one starts."""
    number = plan.expected_rounds()
    why = "as asked" if plan.rounds else f"as fit into {plan.budget_s:.0f} s"
    cells = len({row.cell for row in plan.rows})
    say(f"heddle: {len(plan.rows)} rows in {cells} cells, {number} round(s) {why}, "
        f"{plan.duration_ms} ms a run, about {number * plan.round_s:.0f} s; seed {plan.seed}")
    if number < FEWEST_RUNS and not plan.rounds:
        say(f"heddle: fewer than {FEWEST_RUNS} rounds fit: narrow it with FILTER words, or give "
            "it a larger --budget")


def run_program(row: QueueRow, more: list[str]) -> dict:
    """One process and what it printed, or `ok` false and the reason."""
    command = [row.program, *row.cell.arguments(), *more]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=RUN_TIMEOUT_S, start_new_session=True,
                              check=False)
    except subprocess.TimeoutExpired:
        return {"ok": False, "failure": f"did not end within {RUN_TIMEOUT_S} s"}
    except OSError as error:
        return {"ok": False, "failure": str(error)}
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        return {"ok": False, "failure": said[-1] if said else describe_exit(done.returncode)}
    try:
        result = json.loads(done.stdout)
        known = isinstance(result, dict) and result.get("schema") == RESULT_SCHEMA
    except ValueError:
        known = False
    if not known:
        return {"ok": False, "failure": f"printed no object of schema {RESULT_SCHEMA}"}
    if result["timed"] and not result["mops_per_second"]:
        return {"ok": False, "failure": "no operation was done", "result": result}
    return {"ok": True, "failure": "", "result": result}


def _record(row: QueueRow, found: dict) -> dict:
    return {"schema": SCHEMA, "row": row.label, "queue": row.queue, "cell": row.cell.label, **found}


def measure(plan: Plan, journal: Journal, interrupt: Interrupt) -> tuple[list[dict], bool]:
    """The timed rounds, then each row once on the counting platform; every record is in the
    journal. Returns the records and whether it was interrupted."""
    def timed(row: QueueRow, chance: random.Random) -> dict:
        return _record(row, run_program(row, ["--duration-ms", str(plan.duration_ms),
                                              "--seed", str(chance.randrange(2**32))]))
    records, interrupted = rounds.repeat(plan, journal, interrupt, timed)
    progress = Progress()
    counted = [row for row in plan.rows if row.label == row.queue]
    try:
        for done, row in enumerate(counted if records and not interrupted else ()):
            progress.show(done, len(counted), f"counting {row.name}")
            interrupt.check()
            found = run_program(row, ["--count", "--duration-ms", str(COUNT_MS)])
            record = {**_record(row, found), "round": 0, "seed": plan.seed}
            journal.append(record)
            records.append(record)
    except Interrupted:
        interrupted = True
    progress.clear()
    return records, interrupted


def compare(plan: Plan, facts: dict, directory: Path) -> int:
    """Measure the plan into `directory`, print the tables, write the page. Returns the exit code."""
    facts = {**facts, "duration_ms_per_run": plan.duration_ms, "seed": plan.seed}
    text = json.dumps(facts, indent=2) + "\n"
    (directory / "environment.json").write_text(text, encoding="utf-8")
    journal = Journal(directory)
    with Interrupt() as interrupt:
        records, interrupted = measure(plan, journal, interrupt)
    journal.close()
    cells = queue_estimates.summarize(list(plan.rows), records, plan.seed)
    done = max((cell.rounds for cell in cells), default=0)
    notes = queue_report.notes(done, plan.duration_ms)
    limits = queue_report.limitations(facts["cores_usable"], environment.FEW_CORES)
    path = directory / "report.html"
    title = f"heddle bench queues: {len(cells)} cells, {done} rounds"
    path.write_text(queue_report.page(title, cells, facts, notes, limits), encoding="utf-8")
    failed = sum(not record["ok"] for record in records)
    if interrupted:
        say(f"heddle: interrupted after {len(records)} runs; what was measured:")
    lines = [queue_report.text(cells), *notes]
    if failed:
        lines.append(f"{failed} of {len(records)} runs failed; rounds.jsonl has the reasons")
    lines += [f"data: {directory / 'rounds.jsonl'}", f"report: {path}", *reversed(limits)]
    print("\n".join(lines), flush=True)
    if interrupted:
        return EXIT_INTERRUPTED
    return EXIT_CELLS_FAILED if failed else 0


def run(request: Request, build: BuildDirectory, jobs: int | None) -> int:
    """The command, on a configured build directory."""
    known = zoo.load(build.path / "zoo.json")["queues"]
    queues, words = split_words(request.choice.words, known, build.path)
    workloads = choose_workloads(request.choice, words, [entry["name"] for entry in known])
    measured = list(dict.fromkeys([*REFERENCES, *queues]))
    build.compile([PROGRAM.format(queue) for queue in measured], jobs)
    if build.option("optimization") in ("0", "g"):
        say("heddle: warning: this build is not optimised, its numbers mean little")
    rules = {queue: rules_of(program_of(queue, build.path)) for queue in measured}
    plan = make_plan(request, make_rows(request.choice, workloads, queues, rules, build.path))
    announce(plan)
    return compare(plan, environment.describe(build), make_directory(request.out, build.path))
