"""Writes a results directory of SYNTHETIC figures, for tests of the analysis only.

Nothing here was measured: every number comes from a seeded generator, and the host is named
`synthetic`. The same seed writes the same bytes. usage: synthetic.py DIRECTORY [SEED]
"""
from __future__ import annotations

import json
import math
import random
import sys
from pathlib import Path

ROUNDS = 8
QUEUES = ("bounded-mpmc", "locking", "simple-mpmc")
# row: factor of throughput to the reference, share of system time
PEERS = {"asio-shared": (0.8, "shared"), "go": (0.85, "shared"), "libuv": (0.97, "prefork"),
         "broken": (1.0, "shared")}
CONNECTIONS = (16, 64, 256)
RATES = (10000, 20000, 30000, 40000, 50000)


def combinations() -> list[dict]:
    found = []
    for poller in ("epoll", "io_uring"):
        for scheduler in ("work-sharing", "work-stealing"):
            for queue in QUEUES:
                factor = ((1.0 if poller == "epoll" else 0.85)
                          * (1.02 if scheduler == "work-stealing" else 0.98)
                          * {"bounded-mpmc": 0.97, "locking": 0.99, "simple-mpmc": 0.9}[queue])
                found.append({"row": f"hello-{poller}-{scheduler}-{queue}", "kind": "combination",
                              "sharing": "shared", "poller": poller, "scheduler": scheduler,
                              "queue": queue, "factor": factor})
    return found


def _cell(group: str, one: dict, parameters: dict, reference: str = "", workload: str = "hello"
          ) -> dict:
    return {"cell": f"{one['row']} | {group}", "row": one["row"], "group": group, "reference": reference,
            "workload": workload, "kind": one["kind"], "sharing": one["sharing"],
            "poller": one["poller"], "scheduler": one["scheduler"], "queue": one["queue"],
            "parameters": parameters, "driver": "loadgen", "_factor": one["factor"]}


def _both(group: str, one: dict, parameters: dict, workload: str = "hello") -> list[dict]:
    """The reference and its second run."""
    return [_cell(group, one, parameters, "A", workload),
            _cell(group, {**one, "row": f"{one['row']} A'"}, parameters, "A'", workload)]


def _peer(name: str, factor: float, sharing: str, kind: str = "peer", queue=None) -> dict:
    return {"row": name, "kind": kind, "sharing": sharing, "poller": None, "scheduler": None,
            "queue": queue, "factor": factor}


def _parameters(connections: int, mode: str, rate: int = 0) -> dict:
    return {"workers": 2, "connections": connections, "threads": 2, "mode": mode, "think_us": 0,
            "rate_rps": rate, "payload_bytes": 0, "pipeline": 1, "duration_s": 1.0, "tuning": {},
            "workload": {}}


def cells() -> list[dict]:
    """The plan: two loads of servers swept, and one cell of queues alone."""
    reference = _peer("raw-epoll", 1.0, "prefork")
    found = []
    for connections in CONNECTIONS:
        group, parameters = f"hello, {connections} connections", _parameters(connections, "closed")
        rows = combinations() + [_peer(n, f, s) for n, (f, s) in PEERS.items()]
        rows.append(_peer("null-responder", 1.0, ""))
        found += [_cell(group, one, parameters) for one in rows]
        found += _both(group, reference, parameters)
    for rate in RATES:
        group, parameters = f"hello, open loop at {rate} requests/s", _parameters(64, "open", rate)
        rows = [one for one in combinations() if one["queue"] == "locking"]
        found += [_cell(group, one, parameters) for one in rows]
        found += _both(group, reference, parameters)
    parameters = {**_parameters(0, ""), "threads": 2}
    for queue, factor in (("locking", 0.4), ("bounded-mpmc", 0.7), ("simple-mpmc", 0.69)):
        found.append(_cell("pairwise, 2 threads", _peer(queue, factor, "", "queue", queue),
                           parameters, workload="pairwise"))
    counter = _peer("fetch-add", 1.0, "", "queue", "fetch-add")
    return found + _both("pairwise, 2 threads", counter, parameters, "pairwise")


def histogram(chance: random.Random, median_ns: float, samples: int = 1500) -> dict:
    """Log-normal with one slow sample in a hundred, in buckets 0.4 % wide."""
    counts: dict[int, int] = {}
    for _ in range(samples):
        value = median_ns * math.exp(0.3 * chance.gauss(0, 1))
        if chance.random() < 0.01:
            value *= 1 + 20 * chance.random()
        at = int(math.log(value) / math.log(1.004))
        counts[at] = counts.get(at, 0) + 1
    return {"unit": "ns", "relative_error": 0.004,
            "buckets": [[round(1.004 ** at, 3), round(1.004 ** (at + 1), 3), count]
                        for at, count in sorted(counts.items())]}


def _latency(found: dict) -> dict:
    """The summary of one histogram, as a load generator gives it."""
    values = [(low + high) / 2 for low, high, count in found["buckets"] for _ in range(count)]

    def at(share: float) -> float:
        return values[min(len(values) - 1, int(share * len(values)))]
    return {"mean": sum(values) / len(values), "p50": at(0.5), "p90": at(0.9), "p99": at(0.99),
            "p999": at(0.999), "p9999": at(0.9999), "max": values[-1]}


def _server_part(cell: dict, chance: random.Random, noise: float) -> dict:
    parameters = cell["parameters"]
    connections, factor = parameters["connections"], cell["_factor"]
    capacity = 48000 * factor * connections / (connections + 12)
    cpu_us = 21 / factor * (1 + 4 / connections)
    rate = parameters["rate_rps"] or capacity
    done = min(rate, capacity) * noise
    load = min(0.98, done / 48000 / factor) if parameters["rate_rps"] else 0.8
    found = histogram(chance, 60000 / factor / (1 - load) * (1 if done >= rate * 0.9 else 40))
    user = 0.35 * cpu_us / 1e6 * done
    cpu_us /= noise
    return {
        "requests": int(done), "measured_s": 1.0, "throughput_rps": round(done, 1),
        "latency_ns": _latency(found), "_histogram": found,
        "server": {"user_cpu_s": round(user, 4), "system_cpu_s": round(cpu_us / 1e6 * done - user, 4),
                   "cpu_us_per_request": round(cpu_us, 4), "peak_memory_bytes": 6_000_000,
                   "voluntary_switches": int(done * 0.2), "involuntary_switches": int(done * 0.01),
                   "run_delay_s": 0.1},
        "generator": {"user_cpu_s": 0.3, "system_cpu_s": 0.5, "send_lag_p99_ns": 40000},
        "value": None, "unit": None}


def _record(cell: dict, number: int, position: int, chance: random.Random, common: dict) -> dict:
    noise = math.exp(0.01 * chance.gauss(0, 1) + common["drift"])
    record = {
        "schema": "heddle-round-2", "campaign": common["campaign"],
        **{name: value for name, value in cell.items() if not name.startswith("_")},
        "host": common["host"], "build": "0123abcd", "block": 0, "round": number,
        "position": position, "attempt": 1, "seed": common["seed"], "warmup": number == 0, "repeats": None,
        "started_unix_s": 1.7e9 + number * 60 + position, "ok": True, "failure": "", "notes": [],
        "errors": {"connect": 0, "read": 0, "timeout": 0}, "bytes_received": 0, "histogram": None,
        "noise": {"steal_percent": 0.1, "foreign_cpu_percent": 1.0, "cpu_pressure_percent": 3.0},
        "counters": None, "checks": {"little": "pass", "bytes": "pass"}, "verdict": "good"}
    if cell["kind"] == "queue":
        record.update(requests=0, measured_s=0.2, throughput_rps=0, latency_ns=None, server=None,
                      generator=None, value=50 * cell["_factor"] * noise, unit="Mops/s")
    else:
        record.update(_server_part(cell, chance, noise))
    if cell["row"] == "broken":
        record.update(ok=False, verdict="failed", failure="answered 404 bytes that differ",
                      throughput_rps=0, server=None, latency_ns=None, _histogram=None)
    if number == 3:
        record["noise"]["steal_percent"], record["verdict"] = 2.5, "noisy"
    if cell["kind"] == "combination":
        record["counters"] = {"parks": 0.05 * record["requests"], "steals": 0.02
                              * record["requests"], "polls": 0.3 * record["requests"]}
    return record


def _counts(cell: dict) -> dict:
    ring = cell["poller"] == "io_uring"
    calls = {"io_uring_enter": 0.9} if ring else {"epoll_wait": 0.6, "read": 1.0, "write": 1.0}
    return {"schema": "heddle-counts-1", "cell": cell["cell"], "row": cell["row"],
            "group": cell["group"], "ok": True, "failure": "", "requests": 10000,
            "system_calls_per_request": calls,
            "voluntary_switches_per_request": 0.2, "involuntary_switches_per_request": 0.01,
            "counters_per_request": ({"parks": 0.05, "steals": 0.02, "polls": 0.3}
                                     if cell["kind"] == "combination" else {})}


def write(directory: Path, seed: int = 1, campaign: str = "synthetic", host: str = "synthetic",
          rounds: int = ROUNDS, keep=lambda cell: True) -> Path:
    """A whole results directory of the cells that `keep` wants; returns it."""
    chance = random.Random(f"{seed}/{host}")
    planned = [cell for cell in cells() if keep(cell)]
    (directory / "histograms").mkdir(parents=True)
    lines = []
    for number in range(rounds + 1):
        drift = 0.05 * chance.gauss(0, 1)
        common = {"campaign": campaign, "host": host, "seed": seed, "drift": drift}
        for position, cell in enumerate(chance.sample(planned, len(planned)), 1):
            record = _record(cell, number, position, chance, common)
            found = record.pop("_histogram", None)
            if found and number:
                record["histogram"] = f"histograms/{number}-{position}.json"
                (directory / record["histogram"]).write_text(json.dumps(found), encoding="utf-8")
            lines.append(json.dumps(record))
    static = [{name: value for name, value in cell.items() if not name.startswith("_")}
              for cell in planned]
    plan = {"schema": "heddle-plan-1", "campaign": campaign, "seed": seed, "blocks": 1,
            "rounds": rounds, "warmup_rounds": 1, "cells": static, "pin": "none",
            "published": ["async-bench-hello-throughput"], "scale": "nothing was measured",
            "unavailable": [{"row": "trio", "group": static[0]["group"], "kind": "peer",
                             "workload": "hello", "reason": "needs python3-trio"}],
            "order": "random per round from seed/round"}
    environment = {"schema": "heddle-environment-1", "host": host, "kernel": "Linux (synthetic)",
                   "cpu_model": "synthetic", "cores_usable": 2, "hardware_counters": "N/A: no PMU",
                   "commit": "0" * 40, "date": "2000-01-01T00:00:00+0000"}
    texts = {"rounds.jsonl": "\n".join(lines) + "\n", "plan.json": json.dumps(plan, indent=1),
             "environment.json": json.dumps(environment, indent=1),
             "campaign.toml": f'schema = "heddle-campaign-1"\nname = "{campaign}"\npin = "none"\n',
             "counts.jsonl": "".join(json.dumps(_counts(cell)) + "\n" for cell in planned
                                     if cell["kind"] != "queue" and not cell["reference"])}
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
    return directory


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
