"""A results directory: made once, described, opened again."""
from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import time
from pathlib import Path

from driver import environment
from driver.console import Problem, UsageProblem, say
from driver.lab import affinity, plan
from driver.lab.campaign import Campaign
from driver.lab.cells import AGAIN
from driver.lab.failures import Interrupt
from driver.lab.measure import Laboratory
from driver.lab.plan import Plan
from driver.meson import BuildDirectory


def make_directory(out: Path | None, build: Path) -> Path:
    """A new, empty directory for the results; UsageProblem when `out` already holds some."""
    if out is not None:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            hint = f"; ./heddle resume {out} goes on" if (out / "plan.json").is_file() else ""
            raise UsageProblem(f"--out {out} exists and is not an empty directory{hint}")
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageProblem(f"--out {out}: {error.strerror}") from None
        return out
    stem = build / "bench" / time.strftime("results-%Y%m%d-%H%M%S")
    for suffix in ("", *(f"-{i}" for i in range(2, 100))):
        directory = stem.with_name(stem.name + suffix)
        try:
            directory.mkdir(parents=True)
            return directory
        except FileExistsError:
            continue
        except OSError as error:
            raise Problem(f"{directory}: {error.strerror}") from None
    raise Problem(f"{stem} and 98 more exist")


def start(directory: Path, campaign: Campaign, made: Plan, facts: dict) -> None:
    """Writes what stands beside rounds.jsonl; Problem when the disk does not take it."""
    files = {"campaign.toml": campaign.text,
             "environment.json": json.dumps(facts, indent=2, ensure_ascii=False) + "\n",
             "plan.json": plan.as_json(made)}
    for name, text in files.items():
        try:
            with open(directory / name, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise Problem(f"{directory / name}: {error.strerror}") from None


def facts_of(build: BuildDirectory, made: Plan) -> dict:
    """environment.json: machine, build, versions of peers, and the loads in short."""
    measured = {cell.row for cell in made.cells if cell.kind == "peer"}
    versions = {name: _versions_of(build.root / "servers" / "peers" / name / "peer.json")
                for name in sorted(measured) if not name.endswith(AGAIN)}
    return {**environment.describe(build), "peer_versions": versions, "campaign": made.campaign,
            "pin": made.pin, "seed": made.seed}


def _versions_of(manifest: Path) -> list[str] | None:
    """What the manifest's command prints, a line a program; None when it cannot be found out."""
    try:
        command = json.loads(manifest.read_text(encoding="utf-8"))["versions_command"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=10, check=True)
    except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError):
        return None
    return [" ".join(line.split()) for line in (done.stdout + done.stderr).strip().splitlines()]


def laboratory(directory: Path, made: Plan, build: BuildDirectory, facts: dict,
               interrupt: Interrupt) -> Laboratory:
    """What measuring needs, ready: pinning chosen, limits raised."""
    allow_many_connections()
    return Laboratory(made, directory, build.path, build.path / "cache",
                      facts.get("build_hash") or "", platform.node(),
                      affinity.choose(made.pin), interrupt)


def allow_many_connections() -> None:
    """Raise the soft limit of open files, which servers and generators inherit, to the hard one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def facts_in(directory: Path) -> dict:
    """The environment that a directory was measured in; UsageProblem when it is not told."""
    path = directory / "environment.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageProblem(f"{path}: {error}") from None
    return found


def warn_of_changes(before: dict, now: dict) -> None:
    """Says when a run goes on with another build or on another machine than it began with."""
    for key, what in (("build_hash", "build"), ("host", "host"), ("kernel", "kernel")):
        if before.get(key) != now.get(key):
            say(f"heddle: warning: the {what} is not the one that this run began with "
                f"({before.get(key)}, now {now.get(key)})")
