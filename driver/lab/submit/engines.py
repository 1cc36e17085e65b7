"""The command lines of the engines. Each hands blocks to machines and waits for them to end."""
from __future__ import annotations

import os
import shlex
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from driver.console import Problem, UsageProblem
from driver.lab.programs import find
from driver.lab.submit.blocks import FOLDER, Job

HERE = Path(__file__).resolve().parent
# engine → programs and their Debian packages
NEEDS = {
    "local": {"snakemake": "snakemake"},
    "slurm": {"snakemake": "snakemake", "sbatch": "slurm-client"},
    "ssh": {"parallel": "parallel", "ssh": "openssh-client", "rsync": "rsync"},
}


@dataclass(frozen=True)
class Engine:
    """Where a submission goes. `tree` is heddle's directory on the machines that run blocks, `cpus`
    how many processors Slurm shall give a block, `extra` goes to the engine as it is."""

    name: str
    tree: Path
    hosts: tuple[str, ...] = ()
    cpus: int = 1
    extra: tuple[str, ...] = ()


def check(engine: Engine, look: Callable[[str], str | None] = find) -> None:
    """UsageProblem for hosts where they make no sense; Problem that names missing packages."""
    if engine.name == "ssh" and not engine.hosts:
        raise UsageProblem("submit: --engine ssh needs --hosts a,b")
    if engine.name != "ssh" and engine.hosts:
        raise UsageProblem(f"submit: --hosts is for --engine ssh; {engine.name} knows its machines")
    missing = [package for program, package in NEEDS[engine.name].items() if not look(program)]
    if missing:
        raise Problem(f"--engine {engine.name} needs: apt-get install {shlex.join(missing)}")


def command(engine: Engine, directory: Path, jobs: list[Job], dry_run: bool) -> list[str]:
    """What runs `jobs` of the submission in `directory`, or with `dry_run` only says what it
    would do."""
    if engine.name == "ssh":
        return _parallel(engine, jobs, dry_run)
    words = ["snakemake", "--snakefile", str(HERE / "Snakefile"), "--directory", str(directory),
             "--config", f"tree={engine.tree}", f"cpus={engine.cpus}"]
    if engine.name == "slurm":
        words += ["--profile", str(HERE / "slurm")]
    else:
        words += ["--cores", "1", "--keep-going"]
    if dry_run:
        words += ["--dry-run", "--printshellcmds"]
    return [*words, *engine.extra]


def _parallel(engine: Engine, jobs: list[Job], dry_run: bool) -> list[str]:
    """One block at a time on each host, in a working directory that is removed in the end."""
    there = (f"here=$PWD; cd {shlex.quote(str(engine.tree))} && /usr/bin/python3 -m "
             f"driver.lab.submit.job --packed $here/{FOLDER}/{{}}.tar $here/{FOLDER}/{{}}.out.tar")
    words = ["parallel", "--jobs", "1", "--workdir", "...", "--joblog", "joblog.tsv",
             "--sshlogin", ",".join(engine.hosts), "--transferfile", f"{FOLDER}/{{}}.tar",
             "--return", f"{FOLDER}/{{}}.out.tar", "--cleanup"]
    if dry_run:
        words.append("--dry-run")
    return [*words, *engine.extra, there, ":::", *(job.name for job in jobs)]


def environment(engine: Engine) -> dict[str, str]:
    """What the engine's process gets. Slurm's steps do not take over a job's processors by
    themselves, and Snakemake starts a step inside of the job."""
    if engine.name != "slurm":
        return dict(os.environ)
    return {**os.environ, "SRUN_CPUS_PER_TASK": str(engine.cpus),
            "USER": os.environ.get("USER", str(os.getuid()))}


def pack(directory: Path, jobs: list[Job]) -> None:
    """A tar file beside each block, for machines without our file system."""
    for job in jobs:
        folder = directory / FOLDER / job.name
        with tarfile.open(folder.with_name(f"{job.name}.tar"), "w") as packed:
            packed.add(folder, arcname=".")


def unpack(directory: Path, jobs: list[Job]) -> None:
    """What came back goes into the blocks' directories; the tar files go."""
    for job in jobs:
        folder = directory / FOLDER / job.name
        result = folder.with_name(f"{job.name}.out.tar")
        if result.is_file():
            with tarfile.open(result) as packed:
                packed.extractall(folder)
            result.unlink()
        folder.with_name(f"{job.name}.tar").unlink(missing_ok=True)
