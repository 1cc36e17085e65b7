"""The doctor on programs: those that put load on, those that peers need, those of the report."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from driver.lab.findings import FIT, NOT_FIT, Finding

# program → Debian package and what it is for
PROGRAMS = {
    "wrk": ("wrk", "driver wrk"),
    "ab": ("apache2-utils", "driver ab"),
    "h2load": ("nghttp2-client", "driver h2load"),
    "strace": ("strace", "system calls in ./heddle count"),
    "snakemake": ("snakemake", "submit --engine local, slurm"),
    "parallel": ("parallel", "submit --engine ssh"),
    "ssh": ("openssh-client", "submit --engine ssh"),
    "sbatch": ("slurm-client", "submit --engine slurm"),
}
REPORT_MODULES = {
    "matplotlib": "python3-matplotlib",
    "jinja2": "python3-jinja2",
}


def find(program: str) -> str | None:
    """Path of a program, also where an ordinary user's PATH does not look."""
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def _package(area: str, name: str, is_there: bool, package: str, purpose: str) -> Finding:
    return Finding(area, name, FIT if is_there else NOT_FIT, "present" if is_there else "absent",
                   "" if is_there else f"{purpose}: apt-get install {package}")


def load_programs(build: Path, look: Callable[[str], str | None] = find) -> list[Finding]:
    """The load generator of this tree, and the other programs that a campaign may ask for."""
    built = (build / "loadgen" / "loadgen").is_file()
    first = Finding("programs", "loadgen", FIT if built else NOT_FIT,
                    "built" if built else "not built", "" if built else "./heddle build")
    return [first, *(_package("programs", name, look(name) is not None, package, purpose)
                     for name, (package, purpose) in PROGRAMS.items())]


def peers(build: Path) -> list[Finding]:
    """Each peer of the configured build: what it serves, and the reason for what it does not."""
    try:
        known = json.loads((build / "zoo.json").read_text(encoding="utf-8"))["peers"]
    except (OSError, ValueError, KeyError):
        return [Finding("peers", "peers", NOT_FIT, "unknown", "not configured yet: ./heddle list")]
    found = []
    for name in dict.fromkeys(peer["name"] for peer in known):
        entries = [peer for peer in known if peer["name"] == name]
        usable = [word for peer in entries if peer["available"] for word in peer["protocols"]]
        reasons = [peer.get("reason", "") for peer in entries if not peer["available"]]
        found.append(Finding("peers", name, NOT_FIT if reasons else FIT,
                             ", ".join(usable) or "unavailable",
                             "; ".join(dict.fromkeys(reasons))))
    return found


def report_modules(python: str = "/usr/bin/python3") -> list[Finding]:
    """What the report is made with, asked of the interpreter that will make it."""
    text = ("import importlib.util as u, sys\n"
            "print(*(name for name in sys.argv[1:] if u.find_spec(name)))")
    done = subprocess.run([python, "-c", text, *REPORT_MODULES], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    present = done.stdout.split()
    return [_package("report", name, name in present, package, "report")
            for name, package in REPORT_MODULES.items()]
