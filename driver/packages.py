"""Debian packages: which are needed, which are missing, and how they get installed.

The decision (`decide`) is a pure function of what was found; everything around it only runs
dpkg-query, apt-cache and apt-get. When nothing is missing the step is one dpkg-query, silent.
"""
from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from driver.console import EXIT_FAILED, Problem, can_ask, say

PACKAGES = {
    "build": (
        "meson", "ninja-build", "g++", "pkg-config", "libgtest-dev", "libbenchmark-dev",
        "libcli11-dev", "libfmt-dev", "nlohmann-json3-dev", "libboost1.81-dev",
        "libboost-context1.81-dev", "libboost-fiber1.81-dev", "libconcurrentqueue-dev",
        "liburing-dev", "libuv1-dev", "wrk", "apache2-utils"),
    "test": ("gdb", "strace", "valgrind"),
    "clang": ("clang", "libclang-rt-14-dev"),
    # Queues of other libraries: what is missing leaves them out. Not libatomic-queue-dev: it depends
    # on libboost-dev, that is Boost 1.74, which conflicts with 1.81.
    "adapters": ("libtbb-dev", "libxenium-dev", "libcds-dev"),
    # Peers to compare with, and a load program: what is missing leaves them out.
    "peers": (
        "python3-uvloop", "python3-trio", "guile-3.0", "nginx-light", "nghttp2-client"),
    # Those that another compiler makes, when they are measured; about 800 MB.
    "compiled-peers": (
        "golang-go", "cargo", "rustc", "librust-async-std-dev", "librust-hyper-dev",
        "librust-serde-json-dev", "librust-signal-hook-dev", "librust-socket2-dev",
        "librust-tokio-dev"),
    # Figures and the page of results: without these the table on the terminal still comes.
    "report": ("python3-matplotlib", "python3-jinja2"),
}


@dataclass(frozen=True)
class Host:
    """Who runs us: what may be installed without asking, with asking, or not at all."""

    is_root: bool
    can_ask: bool
    has_sudo: bool

    @classmethod
    def here(cls) -> Host:
        return cls(os.geteuid() == 0, can_ask(), shutil.which("sudo") is not None)


@dataclass(frozen=True)
class Decision:
    """`action` is nothing, install, ask or refuse; `command` is what a person would type."""

    action: str
    missing: tuple[str, ...] = ()
    update_first: bool = False
    command: str = ""


def decide(missing: list[str], update_first: bool, host: Host) -> Decision:
    """What to do about the packages in `missing`, on this kind of host."""
    if not missing:
        return Decision("nothing")
    sudo = "sudo " if not host.is_root and host.has_sudo else ""
    steps = [f"{sudo}apt-get update"] if update_first else []
    steps.append(f"{sudo}apt-get install -y --no-install-recommends {shlex.join(missing)}")
    if host.is_root:
        action = "install"
    else:
        action = "ask" if host.can_ask and host.has_sudo else "refuse"
    return Decision(action, tuple(missing), update_first, " && ".join(steps))


def wanted(*groups: str) -> list[str]:
    """The packages of these groups, in the order of the table, each once."""
    return list(dict.fromkeys(name for group in groups for name in PACKAGES[group]))


def _capture(command: list[str]) -> str:
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=environment, check=False).stdout


def find_missing(names: list[str]) -> list[str]:
    """Those of `names` that dpkg does not report as installed."""
    status = _capture(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *names])
    installed = {line.split()[0] for line in status.splitlines() if line.endswith(" installed")}
    return [name for name in names if name not in installed]


def without_candidate(names: list[str]) -> list[str]:
    """Those of `names` that apt cannot install from the lists it has now."""
    candidates: dict[str, str] = {}
    current = ""
    for line in _capture(["apt-cache", "policy", *names]).splitlines():
        if line and not line[0].isspace():
            current = line.rstrip(":").split(":")[0]
        elif line.strip().startswith("Candidate:"):
            candidates[current] = line.split(":", 1)[1].strip()
    return [name for name in names if candidates.get(name, "(none)") == "(none)"]


class Apt:
    """Runs apt-get with its output in a log file that is shown only when a step fails."""

    def __init__(self, is_root: bool):
        self.prefix = [] if is_root else ["sudo"]
        self.prefix += ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
        self.prefix += ["-o", "DPkg::Lock::Timeout=120"]
        descriptor, self.log_path = tempfile.mkstemp(prefix="heddle-apt-", suffix=".log")
        self.log = os.fdopen(descriptor, "w+", encoding="utf-8", errors="replace")

    def run(self, *arguments: str) -> bool:
        """True when apt-get ended with success."""
        self.log.write(f"$ {shlex.join([*self.prefix, *arguments])}\n")
        self.log.flush()
        return subprocess.run([*self.prefix, *arguments], stdin=subprocess.DEVNULL, stdout=self.log,
                              stderr=subprocess.STDOUT, check=False).returncode == 0

    def fail(self, what: str) -> None:
        """Raises Problem after showing the end of the log, which is kept."""
        self.log.seek(0)
        say("".join(self.log.readlines()[-30:]).rstrip())
        self.log.close()
        raise Problem(f"{what} (whole log: {self.log_path})")

    def done(self) -> None:
        self.log.close()
        os.unlink(self.log_path)


def _install(decision: Decision, is_root: bool) -> None:
    apt = Apt(is_root)
    names = list(decision.missing)
    updated = decision.update_first
    if decision.update_first and not apt.run("update"):
        apt.fail("apt-get update failed")
    absent = without_candidate(names)
    if absent:
        apt.fail(f"apt offers no package {', '.join(absent)}; heddle is made for Debian 12")
    install = ("install", "-y", "--no-install-recommends", *names)
    # Lists that are older than the mirror name files it has dropped: one update, one more try.
    if not apt.run(*install) and (updated or not apt.run("update") or not apt.run(*install)):
        apt.fail("apt-get install failed")
    apt.done()
    still = find_missing(names)
    if still:
        raise Problem(f"apt-get succeeded but dpkg still misses {', '.join(still)}")


def _agrees(decision: Decision) -> bool:
    say(f"heddle needs {len(decision.missing)} more Debian packages. To install them:")
    say(f"  {decision.command}")
    sys.stderr.write("Run this now? [Y/n] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    return answer != "" and answer.strip().lower() in ("", "y", "yes")


def ensure(groups: list[str], dry_run: bool = False, host: Host | None = None) -> None:
    """Make the packages of `groups` present, or raise Problem with the exact command to type."""
    if shutil.which("dpkg-query") is None:
        say("heddle: no dpkg-query here, so this is not Debian: packages are not checked")
        return
    host = host or Host.here()
    missing = find_missing(wanted(*groups))
    if not missing:
        if dry_run:
            print("nothing to install")
        return
    decision = decide(missing, bool(without_candidate(missing)), host)
    if dry_run:
        print(decision.command)
        return
    if decision.action == "refuse" or (decision.action == "ask" and not _agrees(decision)):
        who = "" if host.has_sudo or host.is_root else "as root, "
        raise Problem(f"Debian packages are missing; {who}run: {decision.command}", EXIT_FAILED)
    say(f"heddle: installing {len(missing)} Debian packages: {' '.join(missing)}")
    _install(decision, host.is_root)


def ensure_if_possible(groups: list[str], dry_run: bool = False, host: Host | None = None) -> None:
    """Like ensure, for each group of packages that heddle can do without: a failure is told and
    changes nothing."""
    if shutil.which("dpkg-query") is None:
        return
    for group in groups:
        if not find_missing(wanted(group)):
            continue
        try:
            ensure([group], dry_run, host)
        except Problem as problem:
            say(f"heddle: going on without what is optional: {problem}")
