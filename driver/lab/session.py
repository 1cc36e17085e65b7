"""Processor time, memory and switches of all processes of one session, read from /proc.

A server runs in a session of its own, so that what it forks is found and counted, too.
"""
from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_SLOWEST_SAMPLE_SHARE = 0.05  # of the time between two samples


def members(session: int) -> list[int]:
    """Live processes of the session; zombies are not live."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        fields = _stat(int(name))
        if fields and int(fields[3]) == session and fields[0] not in "ZX":
            found.append(int(name))
    return found


def _stat(pid: int) -> list[str] | None:
    """/proc/PID/stat from the state on, or None for one that has gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None


def _cpu_clock_s(pid: int) -> float:
    """Processor time of a process, ended threads included, to the nanosecond: its POSIX clock."""
    try:
        return time.clock_gettime_ns((~pid << 3) | 2) * 1e-9
    except OSError:
        return 0.0


@dataclass(frozen=True)
class Processor:
    """Processor seconds used so far."""

    user_s: float
    system_s: float

    @property
    def total_s(self) -> float:
        return self.user_s + self.system_s


@dataclass
class Usage:
    """Watches a session between `begin` and `end`; `sample` in between sees threads that come and
    go. Threads that live only between two samples are missing from switches and run delay."""

    session: int
    _first: dict[int, tuple[float, int, int]] = field(default_factory=dict)
    _threads: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    _at_begin: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    _next_s: float = 0.0

    def begin(self) -> None:
        self._first = self._processes()
        self._threads = self._read_threads(list(self._first))
        self._at_begin = dict(self._threads)
        self._next_s = time.monotonic() + 0.2

    def sample(self) -> None:
        """Cheap to call often: it looks every 0.2 s, or less often when looking takes long."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._threads.update(self._read_threads(list(self._first)))
        took_s = time.monotonic() - now_s
        self._next_s = time.monotonic() + max(0.2, took_s / _SLOWEST_SAMPLE_SHARE)

    def end(self) -> dict:
        """The `server` object of a record, but for what depends on the requests."""
        last = self._processes()
        self._threads.update(self._read_threads(list(last)))
        user_s = system_s = 0.0
        for pid, (clock_s, user, system) in last.items():
            before = self._first.get(pid, (0.0, 0, 0))
            used_s = max(0.0, clock_s - before[0])
            ticks = max(0, user - before[1]), max(0, system - before[2])
            # The clock is exact but not divided; ticks are divided but coarse.
            share = ticks[0] / sum(ticks) if sum(ticks) else 0.5
            user_s += used_s * share
            system_s += used_s * (1 - share)
        voluntary, involuntary, delay_ns = (
            sum(values[i] - self._at_begin.get(thread, (0, 0, 0))[i]
                for thread, values in self._threads.items()) for i in range(3))
        return {"user_cpu_s": round(user_s, 6), "system_cpu_s": round(system_s, 6),
                "peak_memory_bytes": sum(_peak_bytes(pid) for pid in last),
                "voluntary_switches": voluntary, "involuntary_switches": involuntary,
                "run_delay_s": round(delay_ns * 1e-9, 6)}

    def _processes(self) -> dict[int, tuple[float, int, int]]:
        """(clock in s, user ticks, system ticks) by process."""
        found = {}
        for pid in members(self.session):
            fields = _stat(pid)
            if fields:
                found[pid] = (_cpu_clock_s(pid), int(fields[11]), int(fields[12]))
        return found

    @staticmethod
    def _read_threads(pids: list[int]) -> dict[int, tuple[int, int, int]]:
        """(voluntary switches, involuntary ones, run delay in ns) by thread."""
        found = {}
        for pid in pids:
            try:
                tasks = os.listdir(f"/proc/{pid}/task")
            except OSError:
                continue
            for task in tasks:
                values = _thread(Path(f"/proc/{pid}/task/{task}"))
                if values:
                    found[int(task)] = values
        return found


def _thread(task: Path) -> tuple[int, int, int] | None:
    try:
        status = (task / "status").read_text(encoding="utf-8", errors="replace")
        switches = status[status.index("voluntary_ctxt_switches:"):].split()
        delay_ns = int((task / "schedstat").read_text(encoding="utf-8").split()[1])
        return int(switches[1]), int(switches[3]), delay_ns
    except (OSError, ValueError, IndexError):
        return None


def _peak_bytes(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return 0


def processor(session: int) -> Processor:
    """Processor time of the live processes so far, divided at the resolution of one tick."""
    fields = [one for one in map(_stat, members(session)) if one]
    return Processor(sum(int(one[11]) for one in fields) / TICKS_PER_S,
                     sum(int(one[12]) for one in fields) / TICKS_PER_S)
