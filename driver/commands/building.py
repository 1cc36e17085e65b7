"""setup, build, list, test: from nothing to a tested build."""
from __future__ import annotations

import json
from pathlib import Path

from driver import packages, testrun, zoo
from driver.commands.parser import (FLAVOURS, Parser, add_build, add_filter, build_directory,
                                    groups)
from driver.console import Problem
from driver.lab import campaign

TESTED_OPTIONAL = ["adapters", "peers", "report"]  # of packages.PACKAGES


def command_setup(words: list[str]) -> int:
    parser = Parser("setup", "Install the Debian packages that are missing.")
    parser.add_argument("--dry-run", action="store_true", help="only print the command")
    parser.add_argument("--sanitizer", choices=FLAVOURS, default="none",
                        help="also what this build needs")
    options = parser.parse(words)
    packages.ensure(groups([options.sanitizer], "test"), options.dry_run)
    packages.ensure_if_possible([*TESTED_OPTIONAL, "compiled-peers"], options.dry_run)
    return 0


def command_build(words: list[str]) -> int:
    parser = Parser("build", "Configure when needed, then compile.")
    add_filter(parser)
    add_build(parser)
    parser.add_argument("--sanitizer", choices=FLAVOURS, default="none",
                        help="build with this sanitizer")
    options = parser.parse(words)
    packages.ensure(groups([options.sanitizer]))
    build = build_directory(options.sanitizer, options.definitions)
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
    add_filter(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse(words)
    build = build_directory("none", [])
    if not build.is_configured():
        packages.ensure(groups([]))
    build.configure()
    known = zoo.load(build.path / "zoo.json")
    known["presets"] = [{"name": name, "available": True} for name in campaign.preset_names()]
    found = zoo.filtered(known, options.words)
    print(json.dumps(found, indent=2, ensure_ascii=False) if options.json else zoo.table(found))
    return 0


def command_test(words: list[str]) -> int:
    parser = Parser("test", "Run the tests: all but the suite `long`, or those that --suite names. "
                    "Words after -- go to `meson test`.")
    add_build(parser)
    add = parser.add_argument
    add("--suite", action="append", default=[], metavar="NAME", help="only this; repeatable")
    add("--sanitizer", action="append", choices=FLAVOURS, help="in this build; repeatable")
    add("--junit", type=Path, metavar="FILE", help="write the counted cases as JUnit XML")
    words, extra = _split(words)
    options = parser.parse(words)
    sanitizers = list(dict.fromkeys(options.sanitizer or ["none"]))
    packages.ensure(groups(sanitizers, "test"))
    packages.ensure_if_possible(TESTED_OPTIONAL)
    builds = [build_directory(sanitizer, options.definitions) for sanitizer in sanitizers]
    for build in builds:
        build.configure()
        testrun.check_suites(build, options.suite)
        build.compile(None, options.jobs)
    return testrun.run_all(builds, options.suite, extra, options.junit)


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """What stands before and after `--`."""
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1:]
