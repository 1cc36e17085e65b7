"""`./heddle selftest`: the lab on trial. It measures what is known, and says where it is wrong."""
from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from driver import environment, packages, zoo
from driver.commands.parser import Parser, build_directory, groups, number
from driver.console import EXIT_INTERRUPTED, EXIT_QUALITY_GATE, say
from driver.lab import results
from driver.lab.failures import Interrupt, Interrupted
from driver.lab.selftests import injected, loads, same
from driver.lab.selftests.bench_cells import Bench, choose

SCHEMA = "heddle-selftest-1"
PARTS = ("same", "injected", "overload", "stall")


@dataclass(frozen=True)
class Trial:
    """One statement about the lab, whether it held, and the figures behind it."""

    name: str
    passed: bool
    text: str
    figures: dict


def duration_us(text: str) -> int:
    """Whole microseconds in `5us` or `1ms`; ValueError for anything else, and above a second."""
    match = re.fullmatch(r"([0-9]{1,7})(us|ms)", text)
    value = int(match.group(1)) * {"us": 1, "ms": 1000}[match.group(2)] if match else 0
    if not 1 <= value <= 1_000_000:
        raise ValueError(f"'{text}' is not a time from 1us to 1000ms")
    return value


def try_same(bench: Bench, rounds: int) -> list[Trial]:
    """No difference is found where there is none, in at most 5 % of the comparisons."""
    records = same.run(bench, rounds)
    every, first = same.count(records, bench.seed)
    trials = []
    for name, counted in every.items():
        low, high = counted.interval
        share = counted.false_findings / counted.comparisons
        alone = first[name]
        trials.append(Trial(
            f"same server, {name}", share <= same.MOST_FALSE,
            f"{counted.false_findings} false findings in {counted.comparisons} comparisons "
            f"({100 * share:.1f} %, 95 % binomial interval {100 * low:.1f} to {100 * high:.1f} %); "
            f"without any round used twice: {alone.false_findings} in {alone.comparisons}; "
            f"{counted.intervals_without_one} unadjusted intervals leave 1 out",
            {**asdict(counted), "interval": [low, high], "without_reuse": asdict(alone),
             "rounds": rounds, "rounds_of_a_comparison": same.ROUNDS,
             "cells_of_a_round": len(same.roles()), "seconds_of_a_cell": same.SECONDS}))
    return trials


def try_injected(bench: Bench, injected_us: int) -> list[Trial]:
    """A slow-down of known size is found in three minutes."""
    found = injected.run(bench, injected_us)
    return [Trial(
        f"injected {injected_us} us", found.is_found,
        f"{found.verdict}: {found.ratio:.3f} times the processor time per request "
        f"({found.low:.3f} to {found.high:.3f}), {found.added_us:.1f} us more, "
        f"in {found.elapsed_s:.0f} s", asdict(found))]


def try_overload(bench: Bench) -> list[Trial]:
    """A generator that cannot keep up says so."""
    load = loads.overloaded(bench)
    verdict = load.check("send_lag")
    lag_ms = (load.told["send_lag"].get("p99") or 0) / 1e6
    return [Trial(
        "generator cannot keep up", verdict in ("warn", "fail"),
        f"{loads.ABSURD_RPS} requests/s asked, {load.told['throughput_rps']:.0f} done: its check "
        f"of the send lag says {verdict or 'nothing'} (p99 {lag_ms:.0f} ms)",
        {"offered_rps": loads.ABSURD_RPS, "throughput_rps": load.told["throughput_rps"],
         "send_lag": load.told["send_lag"], "verdict": verdict})]


def try_stall(bench: Bench) -> list[Trial]:
    """A server that stands still shows in the open mode, and not in the closed one."""
    opened, closed = (loads.stalled(bench, mode) for mode in ("open", "closed"))
    is_near = abs(opened.p75_s - loads.EXPECTED_P75_S) <= loads.TOLERANCE_S
    stop = f"{loads.STOP_S:g} s of {loads.RUN_S:g} s stopped"
    return [
        Trial("open mode sees a stall", is_near and opened.latency_from == "intended",
              f"{stop}: p75 {opened.p75_s:.2f} s from the {opened.latency_from} start, "
              f"{loads.EXPECTED_P75_S:g} s expected",
              {"p75_s": opened.p75_s, "latency_from": opened.latency_from}),
        Trial("closed mode says it cannot",
              closed.p75_s < loads.MOST_SEEN_BY_CLOSED_S and closed.latency_from == "send",
              f"{stop}: p75 {closed.p75_s * 1e3:.2f} ms, labelled as from the "
              f"{closed.latency_from}: it asks nothing while it waits, so a stall costs it one "
              "request a connection, and it cannot see the others",
              {"p75_s": closed.p75_s, "latency_from": closed.latency_from})]


def run(bench: Bench, parts: list[str], rounds: int, injected_us: int) -> list[Trial]:
    """The chosen parts, each line said as soon as it is known."""
    work: dict[str, Callable[[], list[Trial]]] = {
        "same": lambda: try_same(bench, rounds),
        "injected": lambda: try_injected(replace(bench, seed=bench.seed + 1), injected_us),
        "overload": lambda: try_overload(bench),
        "stall": lambda: try_stall(bench)}
    trials: list[Trial] = []
    for part in parts:
        for trial in work[part]():
            say(f"heddle: {'passed' if trial.passed else 'FAILED'}: {trial.name}: {trial.text}")
            trials.append(trial)
    return trials


def report(trials: list[Trial], bench: Bench) -> dict:
    """selftest.json."""
    return {"schema": SCHEMA, "seed": bench.seed, "server": bench.entry["name"],
            "passed": all(trial.passed for trial in trials),
            "trials": [asdict(trial) for trial in trials]}


def _rounds(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not same.ROUNDS <= int(text) <= 10000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from {same.ROUNDS} "
                                         "to 10000")
    return int(text) // same.ROUNDS * same.ROUNDS


def _parse(words: list[str]) -> argparse.Namespace:

    def time_of(text: str) -> int:
        try:
            return duration_us(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
    parser = Parser("selftest", "The lab on trial: silent where nothing differs, a known slow-down "
                    "found, overload and stalls told. FILTER chooses the server.")
    add = parser.add_argument
    add("words", nargs="*", metavar="FILTER", help="words of an imbalance server's name")
    add("--inject", type=time_of, default=5, metavar="TIME", help="per request (5us)")
    add("--rounds", type=_rounds, default=40, metavar="N",
        help="measured for the comparisons of a server with itself (40); with 320 none is used "
             "twice")
    add("--only", choices=PARTS, action="append", metavar="PART",
        help=f"of {', '.join(PARTS)}; repeatable")
    add("--seed", type=number(0, 2**31 - 1), metavar="N", help="of orders, roles and arrivals")
    add("--out", type=Path, metavar="DIR", help="(build/bench/results-DATE-TIME)")
    add("--json", action="store_true", help="one JSON object on stdout")
    return parser.parse(words)


def command_selftest(words: list[str]) -> int:
    """Exit codes: 0 all held, 2 usage, 4 the lab is not to be believed here."""
    options = _parse(words)
    packages.ensure(groups([]))
    build = build_directory("none", [])
    build.configure()
    entry = choose(zoo.load(build.path / "zoo.json"), options.words)
    build.compile([entry["binary"], "loadgen/loadgen"])
    directory = results.make_directory(options.out and options.out.absolute(), build.path)
    seed = random.SystemRandom().randrange(2**31) if options.seed is None else options.seed
    parts = [part for part in PARTS if not options.only or part in options.only]
    say(f"heddle: {entry['name']} in {directory}, seed {seed}")
    started_s = time.monotonic()
    with Interrupt() as interrupt:
        bench = Bench(entry, build.path, directory, environment.describe(build), seed, interrupt)
        try:
            trials = run(bench, parts, options.rounds, options.inject)
        except Interrupted:
            return EXIT_INTERRUPTED
    told = report(trials, bench)
    text = json.dumps(told, indent=1, ensure_ascii=False)
    (directory / "selftest.json").write_text(text + "\n", encoding="utf-8")
    if options.json:
        print(text)
    else:
        held = sum(trial.passed for trial in trials)
        print(f"{held} of {len(trials)} trials held, {time.monotonic() - started_s:.0f} s, "
              f"seed {seed}: {directory / 'selftest.json'}")
    return 0 if told["passed"] else EXIT_QUALITY_GATE

