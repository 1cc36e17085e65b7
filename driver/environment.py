"""Where and with what a comparison was measured, as one JSON object with units in the names."""
from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import shlex
import subprocess
import time
from pathlib import Path

from driver.lab import kernel
from driver.meson import BuildDirectory

FEW_CORES = 4  # at most this many: server and load generator share cores
SHARED_CORES = "shared cores: not a scaling result"


def usable_cores() -> int:
    """Cores that this process may run on, which taskset and cgroups may have cut."""
    return len(os.sched_getaffinity(0))


def _output(*command: str) -> str | None:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory_mib() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20


def hardware_counters() -> str:
    """`available`, or `N/A` with the reason: whether the kernel opens a counter of cycles, in user
    space and of this process."""
    code = kernel.cycle_counter_error()
    if code == 0:
        return "available"
    reasons = {errno.ENOENT: "no PMU", errno.EOPNOTSUPP: "no PMU", errno.ENODEV: "no PMU",
               errno.EACCES: "kernel.perf_event_paranoid forbids it",
               errno.EPERM: "forbidden to this process",
               errno.ENOSYS: "not known how to ask"}
    return f"N/A: {reasons.get(code, os.strerror(code))}"


def _compiler(build: BuildDirectory) -> dict:
    """The compiler that made the servers, and its flags, from meson's compilation database."""
    try:
        commands = json.loads((build.path / "compile_commands.json").read_text(encoding="utf-8"))
        words = shlex.split(commands[0]["command"])
    except (OSError, ValueError, LookupError):
        return {"compiler": None, "compiler_flags": None}
    first = next((i for i, word in enumerate(words) if word.startswith("-")), 1)
    version = _output(words[first - 1], "--version")
    kinds = ("-O", "-g", "-f", "-m", "-std", "-D")
    flags = [word for word in words[first:] if word.startswith(kinds)]
    return {"compiler": version.splitlines()[0] if version else words[first - 1],
            "compiler_flags": " ".join(flags)}


def describe(build: BuildDirectory) -> dict:
    """The record beside rounds.jsonl; what cannot be found out is null."""
    status = _output("git", "-C", str(build.root), "status", "--porcelain")
    commit = _output("git", "-C", str(build.root), "rev-parse", "HEAD")
    compiler = _compiler(build)
    return {
        "schema": "heddle-environment-1",
        "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "host": platform.node(),
        "kernel": f"{platform.system()} {platform.release()}",
        "cpu_model": _cpu_model(),
        "cores_online": os.cpu_count(),
        "cores_usable": usable_cores(),
        "memory_mib": _memory_mib(),
        "hardware_counters": hardware_counters(),
        "load_average_1min": os.getloadavg()[0],
        **compiler,
        "build_type": build.option("buildtype"),
        "optimization": build.option("optimization"),
        "commit": commit,
        "tree_modified": None if status is None else bool(status),
        "mitigations": _mitigations(),
        "build_hash": _build_hash(build, commit, bool(status), compiler),
        "wrk_version": _wrk_version(),
    }


def _build_hash(build: BuildDirectory, commit: str | None, is_modified: bool, compiler: dict
                ) -> str:
    """Twelve hexadecimal digits that differ when sources, compiler or flags do."""
    parts = [commit, is_modified, compiler, build.option("buildtype"),
             build.option("optimization"), build.option("b_lto"), build.option("b_ndebug")]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]


def _mitigations() -> dict[str, str]:
    """What the kernel does about each weakness of the processor, in its own words."""
    try:
        return {path.name: path.read_text(encoding="utf-8").strip() for path in
                sorted(Path("/sys/devices/system/cpu/vulnerabilities").iterdir())}
    except OSError:
        return {}


def _wrk_version() -> str | None:
    """wrk's own first line (it exits non-zero while printing it)."""
    try:
        done = subprocess.run(["wrk", "-v"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
    except OSError:
        return None
    lines = (done.stdout + done.stderr).splitlines()
    return lines[0].split(" Copyright")[0].strip() if lines else None
