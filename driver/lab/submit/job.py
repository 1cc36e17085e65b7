"""Runs one block on the machine where an engine has put it.

usage: python3 -m driver.lab.submit.job DIRECTORY
       python3 -m driver.lab.submit.job --packed ARCHIVE RESULT

DIRECTORY holds plan.json and campaign.toml. ARCHIVE is a tar file of such a directory, for machines
without a common file system; RESULT becomes one with what was measured.
"""
from __future__ import annotations

import json
import os
import platform
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from driver import packages
from driver.commands.parser import build_directory, groups
from driver.console import EXIT_CELLS_FAILED, EXIT_QUALITY_GATE, EXIT_USAGE, Problem, say
from driver.lab import bench, plan, results
from driver.lab.submit.blocks import DONE

MEASURED = (0, EXIT_CELLS_FAILED, EXIT_QUALITY_GATE)


def widen() -> None:
    """Use every processor of the machine that the engine leaves us, not the one of its own step."""
    try:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    except OSError:
        pass


def run(directory: Path) -> int:
    """Runs or continues the block; done.json says that it was measured to its end, also where cells
    failed or were noisy. Returns the exit code of `./heddle resume`."""
    started_s = time.monotonic()
    made = plan.read(directory)
    packages.ensure(groups([]))
    build = build_directory("none", [])
    build.configure()
    environment = directory / "environment.json"
    if not environment.exists():
        bench.compile_for(made, build, None)
        facts = results.facts_of(build, made)
        environment.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    code = bench.resume(directory, build, None)
    if code in MEASURED:
        (directory / DONE).write_text(json.dumps(
            {"exit": code, "host": platform.node(),
             "seconds": round(time.monotonic() - started_s, 1)}) + "\n", encoding="utf-8")
    return code


def run_packed(archive: Path, result: Path) -> int:
    """The same for a tar file; the result is written whatever the exit code."""
    with tempfile.TemporaryDirectory(prefix="heddle-block-") as scratch:
        with tarfile.open(archive) as packed:
            packed.extractall(scratch)
        code = run(Path(scratch))
        with tarfile.open(result, "w") as packed:
            packed.add(scratch, arcname=".")
    return code


def main(words: list[str]) -> int:
    """Exit code 0 for a block that was measured to its end, so that engines go on after it."""
    widen()
    try:
        if len(words) == 1 and not words[0].startswith("-"):
            code = run(Path(words[0]).absolute())
        elif len(words) == 3 and words[0] == "--packed":
            code = run_packed(Path(words[1]).absolute(), Path(words[2]).absolute())
        else:
            say("heddle: a block is run by DIRECTORY, or by --packed ARCHIVE RESULT")
            return EXIT_USAGE
    except Problem as problem:
        say(f"heddle: {problem}")
        return problem.exit_code
    return 0 if code in MEASURED else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
