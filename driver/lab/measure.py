"""One measurement of one cell, as the record that goes into rounds.jsonl."""
from __future__ import annotations

import json
import os
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from driver.lab import answers, drivers, noise
from driver.lab.affinity import Pinning
from driver.lab.cells import Cell
from driver.lab.drivers.base import Context, Outcome
from driver.lab.failures import CellFailure, Interrupt
from driver.lab.plan import Plan, chance_of
from driver.lab.server import HOST, Server
from driver.lab.session import Usage

SCHEMA = "heddle-round-2"
STATIC = ("cell", "row", "group", "reference", "block", "workload", "kind", "sharing", "poller",
          "scheduler", "queue", "driver", "parameters")
READY_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Laboratory:
    """What all measurements of a run share."""

    plan: Plan
    directory: Path
    build: Path
    cache: Path
    build_hash: str
    host: str
    pinning: Pinning = Pinning()
    interrupt: Interrupt = field(default_factory=Interrupt)


@dataclass(frozen=True)
class Turn:
    """Which measurement of its cell it is. `repeats`: the noisy round that it does again."""

    round: int
    position: int
    attempt: int = 1
    warmup: bool = False
    repeats: int | None = None


def command_of(cell: Cell, lab: Laboratory, stats: str = "") -> list[str]:
    """The server's argv; the port is left for the server to fill in."""
    values = {"{build}": str(lab.build), "{host}": HOST, "{cache}": str(lab.cache),
              "{workers}": str(cell.parameters["workers"]),
              "{binary}": str(lab.build / cell.binary)}
    words = []
    for word in cell.run:
        for placeholder, value in values.items():
            word = word.replace(placeholder, value)
        words.append(word)
    words += [f"{name}={value}" for name, value in cell.parameters["workload"].items()]
    if stats and cell.kind == "combination":
        words += ["--stats", stats]
    return words


def check_of(cell: Cell) -> answers.Check:
    version = "1.0" if cell.protocol == "http-close" else "1.1"
    return answers.check_for(cell.answers or cell.workload, cell.path,
                             cell.parameters["payload_bytes"], version)


def _blank(cell: Cell, lab: Laboratory, turn: Turn, seed: int) -> dict:
    return {"schema": SCHEMA, "campaign": lab.plan.campaign,
            **{name: getattr(cell, name) for name in STATIC},
            "host": lab.host, "build": lab.build_hash, "round": turn.round,
            "position": turn.position, "attempt": turn.attempt, "seed": seed,
            "warmup": turn.warmup, "repeats": turn.repeats,
            "started_unix_s": round(time.time(), 3), "ok": False, "failure": "", "notes": [],
            "requests": 0, "measured_s": 0.0, "throughput_rps": 0.0, "errors": {},
            "bytes_received": 0, "latency_ns": None, "histogram": None, "server": None,
            "generator": None, "noise": {"steal_percent": 0.0, "foreign_cpu_percent": 0.0,
                                         "cpu_pressure_percent": 0.0},
            "counters": None, "checks": {}, "verdict": "failed", "value": None, "unit": None}


def measure(cell: Cell, lab: Laboratory, turn: Turn) -> tuple[dict, dict | None]:
    """The record, and the histogram that belongs in a file of its own.

    A failed cell is a record with `ok` false and the reason; only Interrupted and RunStopped are
    raised, and then no process is left."""
    started_s = time.monotonic()
    chance = chance_of(lab.plan.seed, cell, turn.round, turn.attempt)
    seed, padding = chance.randrange(2**31), chance.randrange(4096)
    record = _blank(cell, lab, turn, seed)
    context = Context(lab.build, seed, cores=lab.pinning.generator, tick=lab.interrupt.check)
    measured = _alone if cell.kind in ("queue", "fiber") else _served
    histogram = measured(cell, lab, record, context, padding)
    limits = lab.plan.noise
    if record["ok"]:
        is_noisy = (record["noise"]["steal_percent"] > limits.steal_percent
                    or record["noise"]["foreign_cpu_percent"] > limits.foreign_cpu_percent)
        record["verdict"] = "noisy" if is_noisy else "good"
    record["elapsed_s"] = round(time.monotonic() - started_s, 3)
    return record, histogram


def _alone(cell: Cell, lab: Laboratory, record: dict, context: Context, _: int) -> None:
    """A microbenchmark, which is both sides."""
    try:
        before, own_s = noise.Snapshot.now(), sum(os.times()[:4])
        outcome = drivers.named(cell.driver).run(cell, 0, context)
        used_s = sum(os.times()[:4]) - own_s
        record["noise"] = noise.between(before, noise.Snapshot.now(), used_s)
        _note(record, outcome)
        record["value"], record["unit"] = outcome.value, outcome.unit
        if not outcome.value:
            raise CellFailure("no operation was done")
        record["ok"] = True
    except CellFailure as failure:
        record["failure"] = str(failure)


def _note(record: dict, outcome: Outcome) -> None:
    record.update(requests=outcome.requests, measured_s=round(outcome.measured_s, 6),
                  throughput_rps=round(outcome.throughput_rps, 3), errors=outcome.errors,
                  bytes_received=outcome.bytes_received, latency_ns=outcome.latency_ns,
                  generator=outcome.generator, checks=dict(outcome.checks))
    record["notes"] += outcome.notes


def _served(cell: Cell, lab: Laboratory, record: dict, context: Context, padding: int
            ) -> dict | None:
    """A server and its load."""
    with tempfile.TemporaryDirectory(prefix="heddle-stats-") as place:
        stats = Path(place) / "stats.json"
        try:
            server = Server(command_of(cell, lab, str(stats)), check_of(cell), padding,
                            lab.pinning.server)
        except CellFailure as failure:
            record["failure"] = str(failure)
            return None
        histogram = None
        try:
            server.wait_ready(lab.interrupt, READY_TIMEOUT_S)
            histogram = _load(cell, lab, record, context, server)
            record["ok"] = True
        except CellFailure as failure:
            record["failure"] = str(failure)
        finally:
            _stop(server, record)
        record["counters"] = read_counters(stats)
        return histogram


def _stop(server: Server, record: dict) -> None:
    try:
        stop = server.stop()
        if stop.note and (record["ok"] or stop.killed_processes):
            record["notes"].append(stop.note)
        record["checks"]["survivors"] = "warn" if stop.killed_processes else "pass"
    except CellFailure as failure:
        record.update(ok=False, failure=str(failure))
        record["checks"]["survivors"] = "fail"


def _load(cell: Cell, lab: Laboratory, record: dict, context: Context, server: Server
          ) -> dict | None:
    """Warm-up, the measured load, and everything that is checked about it."""
    driver = drivers.named(cell.driver)
    context = replace(context, expected_bytes=answers.body_bytes(server.first_answer))
    if cell.warmup_s:
        driver.warm_up(cell, server.port, context)
        server.check_alive("during warm-up")
    usage = Usage(server.session)

    def tick() -> None:
        lab.interrupt.check()
        usage.sample()
    before, own_s = noise.Snapshot.now(), sum(os.times()[:2])
    usage.begin()
    outcome = driver.run(cell, server.port, replace(context, tick=tick))
    used = usage.end()
    after, own_s = noise.Snapshot.now(), sum(os.times()[:2]) - own_s
    generator = outcome.generator or {"user_cpu_s": 0.0, "system_cpu_s": 0.0}
    server_s = used["user_cpu_s"] + used["system_cpu_s"]
    record["noise"] = noise.between(
        before, after, own_s + server_s + generator["user_cpu_s"] + generator["system_cpu_s"])
    _note(record, outcome)
    if outcome.requests:
        used["cpu_us_per_request"] = round(server_s / outcome.requests * 1e6, 6)
        record["server"] = used
    server.check_alive("under load")
    if outcome.failure:
        raise CellFailure(outcome.failure)
    server.check_answer()
    if not outcome.requests:
        errors = ", ".join(f"{count} {kind}" for kind, count in outcome.errors.items() if count)
        raise CellFailure(f"no request was answered under load (errors: {errors or 'none'})")
    if cell.driver == "loadgen":
        size = cell.parameters["payload_bytes"] or len(server.first_answer)
        is_right = outcome.bytes_received == outcome.requests * size
        record["checks"]["bytes"] = "pass" if is_right else "fail"
    return outcome.histogram


def read_counters(path: Path) -> dict | None:
    """What a heddle server wrote at its end; None from any other."""
    try:
        counters = json.loads(path.read_text(encoding="utf-8"))["counters"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return counters if isinstance(counters, dict) else None
