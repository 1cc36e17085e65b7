"""From a campaign and the zoo to cells: which rows, under which loads, beside which reference."""
from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path

from driver import zoo
from driver.console import Problem, UsageProblem
from driver.lab.campaign import Campaign, Measure

AGAIN = " A'"
DEFAULT_RUN = ["{binary}", "{host}", "{port}", "{workers}"]
# What clients speak to a workload, unless the campaign says otherwise.
PROTOCOL_OF = {"echo": "echo", "http-close": "http-close"}
EXTERNAL_REASON = "not in Debian 12; --peer {}=PATH supplies its binary"


@dataclass(frozen=True)
class Row:
    """What is compared. `run`: argv with placeholders. `reason`: why it cannot run, else empty."""

    name: str
    kind: str
    run: tuple[str, ...] = ()
    binary: str = ""
    sharing: str = ""
    poller: str | None = None
    scheduler: str | None = None
    queue: str | None = None
    reason: str = ""
    answers: str = ""  # as of a cell


@dataclass(frozen=True)
class Cell:
    """One row under one load: the unit of a round. Its fields are the static part of a record."""

    cell: str
    row: str
    group: str
    reference: str
    block: int
    workload: str
    kind: str
    sharing: str
    poller: str | None
    scheduler: str | None
    queue: str | None
    driver: str
    parameters: dict
    run: tuple[str, ...] = ()
    binary: str = ""
    protocol: str = "http"
    path: str = "/"
    warmup_s: float = 0.0
    answers: str = ""  # the workload whose answers are right; empty: its own

    @property
    def name(self) -> str:
        return self.row


@dataclass
class Expansion:
    """Everything a campaign names: what can be measured, and what keeps a row without."""

    cells: list[Cell] = field(default_factory=list)
    unavailable: list[dict] = field(default_factory=list)


def _combination_rows(known: dict, measure: Measure) -> list[Row]:
    by_name = {entry["name"]: entry for entry in known["combinations"]}
    rows = []
    application = measure.servers or measure.workload
    for entry in known["servers"]:
        combination = by_name.get(entry.get("combination"), {})
        axes = {axis: combination.get(axis) for axis in ("poller", "scheduler", "queue")}
        if entry["name"] != f"{application}-{entry.get('combination')}":
            continue
        if not any(_chooses(words, entry["combination"], by_name)
                   for words in measure.combinations):
            continue
        if any(wanted and axes[axis] not in wanted for axis, wanted in (
                ("poller", measure.pollers), ("scheduler", measure.schedulers),
                ("queue", measure.queues))):
            continue
        rows.append(Row(entry["name"], "combination", tuple(entry.get("run", DEFAULT_RUN)),
                        entry.get("binary", ""), **axes,
                        reason="" if entry["available"] else entry.get("reason", "unavailable")))
    return rows


def _chooses(words: str, name: str, known: dict) -> bool:
    """A combination's whole name chooses it alone; other words choose all in whose names they
    occur."""
    return words == name if words in known else zoo.matches(name, words.split())


def _missing_combinations(known: dict, measure: Measure) -> list[Row]:
    """Combinations that the campaign names in full and that this build does not have."""
    names = {entry["name"] for entry in known["combinations"]}
    servers = {entry["name"] for entry in known["servers"]}
    reasons = {entry["name"]: entry.get("reason", "") for entry in known["combinations"]
               if not entry["available"]}
    rows = []
    for word in measure.combinations:
        full = f"{measure.servers or measure.workload}-{word}"
        if word.count("-") >= 3 and not any(c in word for c in "*?[ ") and full not in servers:
            missing = f"{measure.workload} server of it" if word in names else "such combination"
            reason = reasons.get(word) or f"no {missing} in this build"
            rows.append(Row(full, "combination", reason=reason))
    return rows


def _peer_rows(known: dict, measure: Measure) -> list[Row]:
    entries = [entry for entry in known["peers"] if measure.workload in entry.get("protocols", [])]
    rows = {}
    servers = {entry["name"] for entry in known["servers"]}
    references = [name for name in measure.reference if name not in servers]
    for words in (*measure.peers, *references):
        found = [entry for entry in entries
                 if entry["name"] == words or (words not in references
                                               and zoo.matches(entry["name"], words.split()))]
        exact = [entry for entry in found if entry["name"] == words]
        for entry in exact or found:
            rows[entry["name"]] = Row(
                entry["name"], "peer", tuple(entry.get("run", DEFAULT_RUN)),
                entry.get("binary", ""), entry.get("kind", ""),
                reason="" if entry["available"] else entry.get("reason", "unavailable"),
                answers="http" if (measure.workload, entry.get("answers")) == ("hello", "http")
                else "")
        if not found and words and not any(c in words for c in "*?[ "):
            rows[words] = Row(words, "peer", reason=f"no peer '{words}' of this tree serves "
                                                    f"{measure.workload}")
    return list(rows.values())


def server_rows(known: dict, measure: Measure, named: dict[str, Path]) -> list[Row]:
    """Servers, then peers, then what the user names; the reference is among them."""
    peers = [row for row in _peer_rows(known, measure) if row.name not in named]
    external = [Row(name, "named", reason=EXTERNAL_REASON.format(name))
                for name in measure.external if name not in named]
    supplied = [Row(name, "named", tuple(DEFAULT_RUN), str(path)) for name, path in named.items()]
    return [*_combination_rows(known, measure), *_missing_combinations(known, measure), *peers,
            *external, *supplied]


def _filtered(rows: list[Row], words: list[str], reference: str) -> list[Row]:
    """FILTER words choose among the servers of every combination, beside which all peers stay as
    context; when only others match, only those are measured. The reference always stays."""
    if not words:
        return rows
    chosen = [row for row in rows if row.kind == "combination" and zoo.matches(row.name, words)]
    if chosen:
        return [row for row in rows
                if row in chosen or row.kind != "combination" or row.name == reference]
    others = [row for row in rows if row.kind != "combination" and zoo.matches(row.name, words)]
    return [row for row in rows if row in others or (others and row.name == reference)]


def _loads(measure: Measure) -> list[dict]:
    """The product of all axes that are not of a row, as the parameters of a record."""
    names = list(measure.parameters)
    loads = []
    for connections, workers, threads, payload, pipeline, think, rate, values in itertools.product(
            measure.connections, measure.workers, measure.threads, measure.payload_bytes,
            measure.pipeline, measure.think_us, measure.rate_rps,
            itertools.product(*(measure.parameters[name] for name in names))):
        load = {"workers": workers, "connections": connections, "threads": threads,
                "mode": measure.mode, "think_us": think, "rate_rps": rate,
                "payload_bytes": payload, "pipeline": pipeline}
        if measure.requests_per_connection:
            load["requests"] = measure.requests_per_connection * connections
        else:
            load["duration_s"] = measure.seconds
        loads.append({**load, "tuning": {}, "workload": dict(zip(names, values))})
    return loads


def group_of(measure: Measure, load: dict) -> str:
    """Names what all rows of a comparison share: the block, and those values that are axes or far
    from what is usual."""
    parts = [measure.name]
    if measure.is_microbenchmark:
        parts.append(_counted(load["workers"], "thread"))
    else:
        parts += [_counted(load["connections"], "connection"), _counted(load["workers"], "worker")]
    if load["think_us"]:
        parts.append(f"think {load['think_us']:g} us")
    if load["rate_rps"]:
        parts.append(f"{load['rate_rps']:g} requests/s offered")
    if load["payload_bytes"]:
        parts.append(f"{load['payload_bytes']} bytes")
    if load["pipeline"] > 1:
        parts.append(f"pipeline {load['pipeline']}")
    if len(measure.threads) > 1:
        parts.append(f"{load['threads']} threads")
    parts += [f"{name}={value}" for name, value in load["workload"].items()]
    return ", ".join(parts)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _tuned(row: Row, tuning: dict, options: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The row's name and command with tuning and options in them."""
    words = [f"{name}={value}" for name, value in tuning.items()]
    run = (*row.run, *(word for one in words for word in ("--tuning", one)), *options)
    return " ".join([row.name, *words, *options]), run


def make_cells(measure: Measure, block: int, rows: list[Row], driver: str, reference: str
               ) -> Expansion:
    """Every row under every load; in each group the reference twice, as A and A', with the first
    tuning."""
    found = Expansion()
    for load in _loads(measure):
        group = group_of(measure, load)
        common = {"group": group, "block": block, "workload": measure.workload, "driver": driver,
                  "protocol": measure.protocol or PROTOCOL_OF.get(measure.workload, "http"),
                  "path": measure.path, "warmup_s": measure.warmup_seconds}
        for row in rows:
            if row.reason:
                found.unavailable.append({"row": row.name, "group": group, "kind": row.kind,
                                          "workload": measure.workload, "reason": row.reason})
                continue
            fields = {**common, "kind": row.kind, "sharing": row.sharing, "poller": row.poller,
                      "scheduler": row.scheduler, "queue": row.queue, "binary": row.binary}
            is_ours = row.kind == "combination"
            for tuning in measure.tuning if is_ours else ({},):
                name, run = _tuned(row, tuning, measure.options if is_ours else ())
                answers = measure.servers if is_ours else row.answers
                is_reference = row.name == reference and tuning in ({}, measure.tuning[0])
                marks = ("A", "A'") if is_reference else ("",)
                for mark in marks:
                    label = name + (AGAIN if mark == "A'" else "")
                    found.cells.append(Cell(
                        f"{label} | {group}", label, reference=mark, run=run,
                        parameters={**load, "tuning": tuning}, answers=answers, **fields))
    return found


def expand_servers(known: dict, measure: Measure, block: int, driver: str, words: list[str],
                   named: dict[str, Path]) -> tuple[Expansion, list[str]]:
    """The cells of one block of servers that match, and all names that words could have meant.

    Problem when no reference can run; UsageProblem when there is none."""
    rows = server_rows(known, measure, named)
    names = [row.name for row in rows]
    reference = reference_among(rows, measure)
    kept = _filtered(rows, words, reference.name)
    if kept and reference.reason:
        raise Problem(f"the reference {reference.name} is unavailable: {reference.reason}")
    return make_cells(measure, block, kept, driver, reference.name), names


def reference_among(rows: list[Row], measure: Measure) -> Row:
    """The first of the references that can run, else the first that is there at all."""
    found = [row for name in measure.reference for row in rows if row.name == name]
    if not found:
        near = zoo.nearest(list(measure.reference), [row.name for row in rows])
        hint = f"nearest: {', '.join(near)}" if near else "./heddle list shows all names"
        raise UsageProblem(f"{measure.name}: reference '{measure.reference[0]}' is no row here; "
                           f"{hint}")
    return next((row for row in found if not row.reason), found[0])


def check_unique(campaign: Campaign, cells: list[Cell]) -> None:
    """UsageProblem when two blocks measure the same cell, whose records could not be told apart."""
    seen: set[str] = set()
    for cell in cells:
        if cell.cell in seen:
            raise UsageProblem(f"campaign {campaign.name}: '{cell.cell}' is there twice; "
                               "give the blocks different names")
        seen.add(cell.cell)
