"""Published tables beside what was measured: both as ratios to the same reference."""
from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from driver.analysis.comparison import Comparison, Group, Row
from driver.analysis.metrics import THROUGHPUT
from driver.analysis.tables import Column, Table, Value

PLACE = Path(__file__).resolve().parents[1] / "data" / "published"
TEXT = ("kind", "framework", "server", "tool", "target", "baseline", "sqpoll", "keep_alive")
ASYNC_LATENCY = ("latency_mean_ns", "latency_median_ns", "latency_q0_9_ns", "latency_q0_99_ns",
                 "latency_q0_999_ns", "latency_q0_9999_ns")


@dataclass(frozen=True)
class Source:
    """One published file, named by its stem. `name` is its column of names; `loads` pairs columns
    with parameters of a record; `reference` names the row that ratios are taken to."""

    stem: str
    workload: str
    name: str
    reference: str
    loads: tuple[tuple[str, str], ...] = ()
    think: bool = False

    @property
    def file(self) -> str:
        return f"{self.stem}.csv"


SOURCES = {source.stem: source for source in (
    Source("async-bench-hello-throughput", "hello", "framework", "raw-epoll"),
    Source("async-bench-hello-timeout-throughput", "hello-timeout", "framework",
           "Boost.Asio prefork"),
    Source("async-bench-hello-latency", "hello", "framework", "raw-epoll", think=True),
    Source("async-bench-hello-timeout-latency", "hello-timeout", "framework",
           "Boost.Asio prefork", think=True),
    Source("artanis-json-wrk", "json", "server", "guile-builtin",
           (("connections", "connections"),)),
    Source("libcoring", "", "target", ""),
    Source("go-uring-echo", "echo", "server", "go-net",
           (("clients", "connections"), ("message_bytes", "payload_bytes"))),
    Source("ahbench-wrk", "hello", "server", "asyncio_sockets"))}
# Our names of published rows; what is not here has the same name on both sides.
OURS = {
    "Boost.Asio shared": ("asio-shared",), "Boost.Asio prefork": ("asio-prefork",),
    "Go": ("go", "go-net"), "go-net": ("go", "go-net"), "Tokio": ("tokio",),
    "guile-builtin": ("guile-builtin", "guile"), "threads": ("threads",),
}


def key_of(source: Source, line: dict) -> str:
    """A published row's name; kinds and instances of one server stay apart."""
    name = line[source.name]
    if name == "ragnarok":
        return f"{name}-{line['instances']}"
    return f"{name} {line['kind']}" if name == "Boost.Asio" else name


def candidates(name: str, workload: str) -> set[str]:
    """The names that a published row may have among ours. libfev's combinations are held against
    our combinations of the same poller, scheduler and queue."""
    found = {name, *OURS.get(name, ()), name.replace("_", "-")}
    if name.startswith("fev-"):
        found |= {f"{workload}-{name.removeprefix('fev-')}", f"lib{name}"}
    return found


def lines_of(source: Source) -> list[dict]:
    with open(PLACE / source.file, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def sources_for(comparison: Comparison) -> list[Source]:
    """Those that the plan names; names that are not known here are left out."""
    named = [name for directory in comparison.results.directories
             for name in directory.plan.get("published", [])]
    return [SOURCES[name] for name in dict.fromkeys(named) if name in SOURCES]


def groups_for(comparison: Comparison, source: Source) -> list[Group]:
    """The measured groups that a file may be held against."""
    return [group for group in comparison.groups
            if group.rows and group.rows[0].cell["workload"] == source.workload
            and (group.parameters.get("mode") == "think") == source.think]


def _fits(source: Source, line: dict, group: Group) -> bool:
    return all(float(line[column]) == float(group.parameters.get(parameter, -1))
               for column, parameter in source.loads)


def _ours(group: Group, name: str) -> Row | None:
    wanted = {one.lower() for one in candidates(name, group.rows[0].cell["workload"])}
    return next((row for row in group.rows if row.name.lower() in wanted), None)


@dataclass(frozen=True)
class Beside:
    """One published row and ours. Ratios are to the published reference, on its own side each."""

    source: Source
    name: str
    load: str
    published: float | None
    published_ratio: float | None
    ours: Row | None
    our_ratio: float | None
    group: Group | None


def _throughput(row: Row | None) -> float | None:
    centre = row.metrics[THROUGHPUT.name].centre if row and THROUGHPUT.name in row.metrics else None
    return centre.median if centre else None


def _number(line: dict, column: str) -> float | None:
    text = line.get(column) or ""
    return float(text) if text else None


def beside(comparison: Comparison, source: Source) -> list[Beside]:
    """Every published row of throughput with what we have, if anything, under the same load."""
    lines = lines_of(source)
    found = []
    for line in lines:
        name = key_of(source, line)
        load = ", ".join(f"{line[column]} {column}" for column, _ in source.loads)
        group = next((group for group in groups_for(comparison, source)
                      if _fits(source, line, group)), None)
        same_load = [other for other in lines if key_of(source, other) == source.reference
                     and all(other[column] == line[column] for column, _ in source.loads)]
        base = _number(same_load[0], "throughput_rps") if same_load else None
        value = _number(line, "throughput_rps")
        ours = _ours(group, name) if group else None
        reference = _throughput(_ours(group, source.reference)) if group else None
        mine = _throughput(ours)
        found.append(Beside(source, name, load, value, value / base if value and base else None,
                            ours, mine / reference if mine and reference else None, group))
    return found


def throughput_table(comparison: Comparison, source: Source) -> Table:
    """Published and measured requests a second, and both as ratios."""
    rows: list[list[Value]] = []
    for one in beside(comparison, source):
        mine = _throughput(one.ours)
        rows.append([one.name, one.load or None, one.published, one.published_ratio,
                     one.ours.name if one.ours else _why_absent(comparison, one.name), mine,
                     one.our_ratio])
    place = "" if comparison.results.is_split else " (this machine)"
    columns = (Column("published row", "published_row", True), Column("load", "load", True),
               Column("published requests/s", "published_throughput_rps"),
               Column("published ratio", "published_ratio"), Column("our row", "our_row", True),
               Column(f"our requests/s{place}", "our_throughput_rps"),
               Column("our ratio", "our_ratio"))
    return Table(source.stem, f"Published beside measured: {source.file}", columns, rows,
                 f"Ratios to {source.reference} on each side: medians of ours by its median. Other "
                 "machine, other kernel: compare the shape.")


def _why_absent(comparison: Comparison, name: str) -> str:
    """Why a published row has none of ours."""
    for directory in comparison.results.directories:
        for entry in directory.plan.get("unavailable", []):
            if entry["row"].lower() in {n.lower() for n in candidates(name, entry["workload"])}:
                return f"unavailable: {entry['reason']}"
    return "not in this campaign"


def plain_table(source: Source) -> Table:
    """A published file as it is, for one that cannot be lined up row by row."""
    lines = lines_of(source)
    columns = tuple(Column(name.replace("_", " "), name, name in TEXT) for name in lines[0])
    rows: list[list[Value]] = [[line[name] if name in TEXT or not line[name] else float(line[name])
                                for name in lines[0]] for line in lines]
    return Table(source.stem, f"Published: {source.file}", columns, rows,
                 "As published; see the tables above for ours.")


def latency_rows(source: Source) -> list[list[Value]]:
    """The published quantiles, in the columns of ours."""
    return [[f"published: {key_of(source, line)}", line["kind"],
             *(float(line[column]) for column in ASYNC_LATENCY)] for line in lines_of(source)]
