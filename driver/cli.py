"""The command line: one parser per command, errors in one line, exit codes 0, 1, 2, 3 and 130."""
from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
from pathlib import Path

from driver import bench, packages, queue_bench, testrun, zoo
from driver.console import EXIT_INTERRUPTED, Problem, UsageProblem, say
from driver.meson import BuildDirectory
from driver.queue_cells import Choice
from driver.wrk import Load

ROOT = Path(__file__).resolve().parent.parent
USAGE = """usage: ./heddle COMMAND [OPTION]... [WORD]...

  setup            install the Debian packages that are missing, and nothing else
  build [FILTER]   configure and compile; with FILTER only matching servers and peers
  list [FILTER]    queues, schedulers, pollers, combinations, servers, peers; --json for programs
  test             run the tests; the last line is `N passed, N failed, N skipped`
  bench [FILTER]   compare hello servers and peers with raw-epoll, in under five minutes
  bench queues [FILTER]   compare the queues alone, in under five minutes

FILTER: words that must all occur in a name. `./heddle COMMAND --help` lists its options.
exit: 0 ok, 1 failure, 2 usage, 3 some cells failed, 130 interrupted"""

# sanitizer → build directory and compilers (None: meson's choice)
FLAVOURS = {
    "none": ("build", None),
    "address": ("build-address", ("gcc", "g++")),
    "thread": ("build-thread", ("clang", "clang++")),
}


class Parser(argparse.ArgumentParser):
    """Errors as one line that says what is allowed, instead of a block of usage."""

    def __init__(self, command: str, description: str):
        super().__init__(prog=f"./heddle {command}", description=description, allow_abbrev=False)

    def error(self, message: str) -> None:
        what = self.prog.removeprefix("./heddle ")
        raise UsageProblem(f"{what}: {message.removeprefix('argument ')}")

    def parse(self, words: list[str]) -> argparse.Namespace:
        """Options and words in any order; UsageProblem names what is allowed instead."""
        options, extra = self.parse_known_intermixed_args(words)
        if extra:
            what = "option" if extra[0].startswith("-") else "word"
            allowed = ", ".join(action.option_strings[-1] for action in self._actions
                                if action.option_strings)
            self.error(f"unknown {what} '{extra[0]}'; allowed: {allowed}")
        return options


def _number(low: int, high: int):
    def parse(text: str) -> int:
        # isascii: int() also takes digits of other scripts, spaces and underscores.
        if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from {low} to {high}")
        return int(text)
    return parse


def _duration(text: str) -> float:
    try:
        return bench.parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _list_of(parse):
    """Several values with commas between them."""
    def parse_all(text: str) -> tuple:
        return tuple(dict.fromkeys(parse(part) for part in text.split(",")))
    return parse_all


def _decimal(low: float, high: float):
    def parse(text: str) -> float:
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) or not low <= float(text) <= high:
            raise argparse.ArgumentTypeError(f"'{text}' is not a number from {low:g} to {high:g}")
        return float(text)
    return parse


def _definition(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE")
    return name, value


def _add_filter(parser: Parser) -> None:
    parser.add_argument("words", nargs="*", metavar="FILTER",
                        help="words that must all occur in a name")


def _add_build(parser: Parser) -> None:
    parser.add_argument("-D", dest="definitions", action="append", type=_definition, default=[],
                        metavar="NAME=VALUE", help="option for meson: -Dcombinations='epoll-*'")
    parser.add_argument("-j", "--jobs", type=_number(1, 4096), metavar="N",
                        help="compile N files at once")


def _build_directory(sanitizer: str, definitions: list[tuple[str, str]]) -> BuildDirectory:
    name, compilers = FLAVOURS[sanitizer]
    # Under a sanitizer every pair of axes is enough (-Dpairwise=false asks for all combinations), and
    # building takes longer than running.
    options = {} if sanitizer == "none" else {"sanitizer": sanitizer, "pairwise": "true",
                                              "optimization": "1"}
    return BuildDirectory(ROOT, ROOT / name, compilers, {**options, **dict(definitions)})


def _groups(sanitizers: list[str], *more: str) -> list[str]:
    return ["build", *more, *(["clang"] if "thread" in sanitizers else [])]


def command_setup(words: list[str]) -> int:
    parser = Parser("setup", "Install the Debian packages that are missing.")
    parser.add_argument("--dry-run", action="store_true", help="only print the command")
    parser.add_argument("--sanitizer", choices=FLAVOURS, default="none",
                        help="also what this build needs")
    options = parser.parse(words)
    packages.ensure(_groups([options.sanitizer], "test"), options.dry_run)
    for group in ("adapters", "peers"):
        packages.ensure_if_possible([group], options.dry_run)
    return 0


def command_build(words: list[str]) -> int:
    parser = Parser("build", "Configure when needed, then compile.")
    _add_filter(parser)
    _add_build(parser)
    parser.add_argument("--sanitizer", choices=FLAVOURS, default="none",
                        help="build with this sanitizer")
    options = parser.parse(words)
    packages.ensure(_groups([options.sanitizer]))
    build = _build_directory(options.sanitizer, options.definitions)
    build.configure()
    outputs = None
    if options.words:
        known = zoo.load(build.path / "zoo.json")
        entries = known["servers"] + known["peers"]
        chosen = zoo.select(entries, options.words)
        if not chosen:
            raise zoo.nothing_matches(options.words, [entry["name"] for entry in entries])
        usable = [entry for entry in chosen if entry["available"]]
        if not usable:
            raise Problem(f"{chosen[0]['name']} is {zoo.state(chosen[0])}")
        outputs = [entry["binary"] for entry in usable]
    build.compile(outputs, options.jobs)
    return 0


def command_list(words: list[str]) -> int:
    parser = Parser("list", "What there is, and why something is unavailable.")
    _add_filter(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse(words)
    build = _build_directory("none", [])
    if not build.is_configured():
        packages.ensure(_groups([]))
    build.configure()
    found = zoo.filtered(zoo.load(build.path / "zoo.json"), options.words)
    print(json.dumps(found, indent=2, ensure_ascii=False) if options.json else zoo.table(found))
    return 0


def command_test(words: list[str]) -> int:
    parser = Parser("test", "Run the tests: all but the suite `long`, or those that --suite names. "
                    "Words after -- go to `meson test`.")
    _add_build(parser)
    add = parser.add_argument
    add("--suite", action="append", default=[], metavar="NAME", help="only this; repeatable")
    add("--sanitizer", action="append", choices=FLAVOURS, help="in this build; repeatable")
    add("--junit", type=Path, metavar="FILE", help="write the counted cases as JUnit XML")
    words, extra = _split(words)
    options = parser.parse(words)
    sanitizers = list(dict.fromkeys(options.sanitizer or ["none"]))
    packages.ensure(_groups(sanitizers, "test"))
    builds = [_build_directory(sanitizer, options.definitions) for sanitizer in sanitizers]
    for build in builds:
        build.configure()
        testrun.check_suites(build, options.suite)
        build.compile(None, options.jobs)
    return testrun.run_all(builds, options.suite, extra, options.junit)


def command_bench_queues(words: list[str]) -> int:
    parser = Parser("bench queues", "Compare the queues alone: fresh processes, each round paired "
                    "with a reference. FILTER: words of queues, and of workloads.")
    _add_filter(parser)
    _add_build(parser)
    _add_rounds(parser)
    usual = Choice()
    add = parser.add_argument
    add("--workload", action="append", default=[], metavar="NAME", help="only this; repeatable")
    add("--threads", type=_list_of(_number(1, 256)), default=usual.threads, metavar="N,...",
        help="thread counts (1,2)")
    add("--think-ns", type=_list_of(_decimal(0, 1e6)), default=usual.think_ns, metavar="NS,...",
        help="time between two operations of a thread, such as 0,50,100,500 (0)")
    add("--steal-percent", type=_list_of(_decimal(0.1, 10)), default=usual.steal_percent,
        metavar="P,...", help="share that thieves take (0.1,1,10)")
    add("--duration-ms", type=_number(1, 60000), metavar="N", help="of one run (as fits)")
    options = parser.parse(words)
    choice = Choice(tuple(options.words), tuple(options.workload), options.threads,
                    options.think_ns, options.steal_percent)
    request = queue_bench.Request(choice, options.duration_ms, options.rounds, options.budget,
                                  *_seed_and_out(options))
    packages.ensure(_groups([]))
    build = _build_directory("none", options.definitions)
    build.configure()
    return queue_bench.run(request, build, options.jobs)


def _add_rounds(parser: Parser) -> None:
    """What every comparison has."""
    add = parser.add_argument
    add("--rounds", type=_number(1, 10000), metavar="N", help="so many, whatever the budget")
    add("--budget", type=_duration, default=240.0, metavar="TIME",
        help="as many rounds as fit (240s)")
    add("--seed", type=_number(0, 2**63 - 1), metavar="N", help="of the order and the intervals")
    add("--out", type=Path, metavar="DIR", help="results go here (build/bench/results-DATE-TIME)")


def _seed_and_out(options: argparse.Namespace) -> tuple[int, Path | None]:
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    return seed, options.out.absolute() if options.out else None


def command_bench(words: list[str]) -> int:
    if words[:1] == ["queues"]:
        return command_bench_queues(words[1:])
    parser = Parser("bench", "Compare hello servers and peers, each round paired with raw-epoll.")
    _add_filter(parser)
    _add_build(parser)
    _add_rounds(parser)
    add = parser.add_argument
    add("--server", choices=("hello", "hello-timeout"), default="hello", help="which (hello)")
    add("--seconds", type=_number(1, 3600), metavar="N", help="load per cell (1 or 2, as fits)")
    add("--connections", type=_number(1, 60000), default=128, metavar="N", help="of wrk (128)")
    add("--workers", type=_number(1, 1024), default=2, metavar="N",
        help="of each server, and threads of wrk (2)")
    add("--peer", type=_definition, action="append", default=[], metavar="NAME=PATH",
        help="one more row, from a program that takes HOST PORT WORKERS; repeatable")
    options = parser.parse(words)
    Load(options.connections, options.workers, 1)  # refuses numbers that wrk cannot do
    request = bench.Request(options.words, options.server, options.workers, options.connections,
                            options.seconds, options.rounds, options.budget,
                            *_seed_and_out(options),
                            {name: Path(path).absolute() for name, path in options.peer})
    packages.ensure(_groups([]))
    build = _build_directory("none", options.definitions)
    build.configure()
    return bench.run(request, build, options.jobs)


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """What stands before and after `--`."""
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1:]


COMMANDS = {"setup": command_setup, "build": command_build, "list": command_list,
            "test": command_test, "bench": command_bench}


def main(words: list[str]) -> int:
    """Run one command; every expected failure is one line on stderr."""
    try:
        if not words:
            raise UsageProblem(f"say what to do: {', '.join(COMMANDS)} (or --help)")
        if words[0] in ("-h", "--help", "help"):
            print(USAGE)
            return 0
        if words[0] not in COMMANDS:
            allowed = ", ".join(COMMANDS)
            raise UsageProblem(f"unknown command '{words[0]}'; allowed: {allowed}, --help")
        return COMMANDS[words[0]](words[1:])
    except Problem as problem:
        say(f"heddle: {problem}")
        return problem.exit_code
    except KeyboardInterrupt:
        say("heddle: interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has gone; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
