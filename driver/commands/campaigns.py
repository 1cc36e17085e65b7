"""plan, bench, count, status, resume: campaigns of the lab."""
from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from driver import packages
from driver.commands.parser import (Parser, add_build, add_seed_and_out, build_directory,
                                    definition, duration, groups, list_of, number, percent)
from driver.commands.queues import command_bench_queues
from driver.console import UsageProblem, say
from driver.lab import bench, campaign, drivers, plan, status, values
from driver.lab.campaign import DRIVERS, MICROBENCHMARKS, PINS, Campaign

DEFAULT_PRESET = "quick"


def _add_campaign(parser: Parser) -> None:
    """What a campaign is made of, and what the command line may change in it."""
    add = parser.add_argument
    add("words", nargs="*", metavar="[CAMPAIGN.toml] FILTER",
        help="a campaign's file; words that must all occur in a row's name")
    add("--preset", metavar="NAME", help=f"one of {', '.join(campaign.preset_names())} "
                                         f"({DEFAULT_PRESET})")
    add("--rounds", type=number(1, 10000), metavar="N", help="so many, whatever the budget")
    add("--budget", type=duration, metavar="TIME", help="no more rounds than fit, as in 30m")
    add("--target-ci", type=percent, metavar="PERCENT",
        help="stop once every row's interval is within so much of its ratio, as 2%%")
    add("--reference", metavar="ROW", help="what every ratio is taken to")
    add("--pin", choices=PINS, help="cores of server and generator")
    add("--driver", choices=[name for name in DRIVERS if name not in MICROBENCHMARKS],
        help="load generator")
    add("--server", choices=("hello", "hello-timeout"), help="of preset quick (hello)")
    add("--seconds", type=number(1, 3600), metavar="N", help="load per cell")
    add("--connections", type=list_of(number(1, 60000)), metavar="N,...", help="of the load")
    add("--workers", type=list_of(number(1, 1024)), metavar="N,...",
        help="of each server; one value is also the number of the generator's threads")
    add("--peer", type=definition, action="append", default=[], metavar="NAME=PATH",
        help="one more row, from a program that takes HOST PORT WORKERS; repeatable")
    add("--block", type=list_of(number(1, 10000)), default=(), metavar="N,...",
        help="only these blocks of the plan, as one machine of several does")
    add_seed_and_out(parser)
    add_build(parser)


def _campaign(options: argparse.Namespace) -> tuple[Campaign, list[str]]:
    """The campaign that is named, and the words that are left to filter it."""
    words = list(options.words)
    if words and words[0].endswith(".toml"):
        if options.preset:
            raise UsageProblem(f"give a campaign ({words[0]}) or a preset ({options.preset}), "
                               "not both")
        return campaign.load(Path(words[0])), words[1:]
    return campaign.preset(options.preset or DEFAULT_PRESET), words


def _changed(chosen: Campaign, options: argparse.Namespace) -> Campaign:
    """The campaign with the command line's changes in it."""
    if options.server:
        if chosen.name != DEFAULT_PRESET:
            raise UsageProblem(f"--server {options.server}: only preset {DEFAULT_PRESET} takes it")
        chosen = chosen.with_measures(workload=options.server, name=options.server)
    if options.seconds:
        chosen = chosen.with_measures(seconds=options.seconds, requests_per_connection=None)
    for name in ("connections", "workers"):
        if getattr(options, name):
            chosen = chosen.with_measures(**{name: getattr(options, name)})
    if options.workers and len(options.workers) == 1:
        chosen = chosen.with_measures(threads=options.workers)
    if options.reference:
        chosen = chosen.with_measures(reference=(options.reference,))
    if options.driver:
        chosen = replace(chosen, measures=tuple(
            one if one.is_microbenchmark else replace(one, driver=options.driver)
            for one in chosen.measures))
    if options.rounds:
        chosen = replace(chosen.with_measures(rounds=options.rounds), rounds=options.rounds,
                         budget_s=None)
    changes = {"budget_s": options.budget, "target_ci_percent": options.target_ci,
               "pin": options.pin, "seed": options.seed}
    return replace(chosen, **{name: value for name, value in changes.items() if value is not None})


def _request(options: argparse.Namespace) -> bench.Request:
    chosen, words = _campaign(options)
    chosen = _changed(chosen, options)
    for measure in chosen.measures:
        if measure.driver != "auto":
            drivers.check_measure(measure)
    return bench.Request(chosen, words, {name: Path(path).absolute()
                                         for name, path in options.peer},
                         list(options.block), options.out.absolute() if options.out else None)


def command_bench(words: list[str]) -> int:
    if words[:1] == ["queues"]:
        return command_bench_queues(words[1:])
    parser = Parser("bench", "Measure a campaign: interleaved rounds, each paired with a "
                    "reference. Without one, hello servers and peers in under five minutes.")
    _add_campaign(parser)
    options = parser.parse(words)
    request = _request(options)
    packages.ensure(groups([]))
    packages.ensure_if_possible(["adapters", "peers", "compiled-peers", "report"])
    build = build_directory("none", options.definitions)
    build.configure()
    return bench.run(request, build, options.jobs)


def command_count(words: list[str]) -> int:
    parser = Parser("count", "Count system calls by kind, context switches and scheduler counters "
                    "per request, untimed, of each row of a campaign.")
    _add_campaign(parser)
    options = parser.parse(words)
    request = _request(options)
    packages.ensure(groups([], "test"))
    build = build_directory("none", options.definitions)
    build.configure()
    return bench.count(request, build, options.jobs)


def command_plan(words: list[str]) -> int:
    parser = Parser("plan", "Show what bench would measure: cells, rounds, order, expected time "
                    "and disk. Measures nothing.")
    _add_campaign(parser)
    parser.add_argument("--json", action="store_true", help="plan.json on stdout")
    options = parser.parse(words)
    request = _request(options)
    build = build_directory("none", options.definitions)
    if not build.is_configured():
        packages.ensure(groups([]))
    build.configure()
    made = bench.make_plan(request, build)
    if options.json:
        print(plan.as_json(made), end="")
        return 0
    print("\n".join(bench.summary(made)))
    for block in made.blocks:
        for group in dict.fromkeys(cell.group for cell in block.cells):
            print(f"\n{group} ({block.cells[0].driver})")
            for cell in block.cells:
                if cell.group == group:
                    mark = f"  reference {cell.reference}" if cell.reference else ""
                    print(f"  {cell.row}{mark}")
        first = ", ".join(cell.row for cell in plan.order_of(made.seed, block, 1)[:4])
        print(f"order of {block.name}: {plan.ORDER}; round 1 begins {first}")
    for row, reason in made.reasons.items():
        print(f"unavailable: {row}: {reason}")
    print(f"\nexpected: {values.span(made.expected_s())}, "
          f"{max(1, made.expected_bytes() // 2**20)} MiB of disk")
    return 0


def command_status(words: list[str]) -> int:
    parser = Parser("status", "How far a run is, when it ends, how noisy it was.")
    parser.add_argument("directory", type=Path, metavar="DIR", help="the results of bench")
    print("\n".join(status.lines_of(parser.parse(words).directory)))
    return 0


def command_resume(words: list[str]) -> int:
    parser = Parser("resume", "Go on with a run where it stopped: the same plan, nothing twice.")
    parser.add_argument("directory", type=Path, metavar="DIR", help="the results of bench")
    add_build(parser)
    options = parser.parse(words)
    directory = options.directory.absolute()
    plan.read(directory)  # refuses what is no run before anything is built
    packages.ensure(groups([]))
    build = build_directory("none", options.definitions)
    build.configure()
    say(f"heddle: going on with {directory}")
    return bench.resume(directory, build, options.jobs)
