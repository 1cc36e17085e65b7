"""What else the machine did during a cell: stolen time, foreign processor time, CPU pressure."""
from __future__ import annotations

import os
import time
from dataclasses import dataclass

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Snapshot:
    """Totals since boot: seconds of all processors, and of pressure."""

    at_s: float
    busy_s: float
    steal_s: float
    pressure_s: float

    @classmethod
    def now(cls) -> Snapshot:
        """Interrupts are not counted as busy: on loopback they are the load's own packets."""
        with open("/proc/stat", encoding="utf-8") as stat:
            user, nice, system, _, _, _, _, steal = map(int, stat.readline().split()[1:9])
        return cls(time.monotonic(), (user + nice + system) / TICKS_PER_S, steal / TICKS_PER_S,
                   _pressure_s())


def _pressure_s() -> float:
    """Total time in which some task waited for a processor; 0 where the kernel does not tell."""
    try:
        with open("/proc/pressure/cpu", encoding="utf-8") as pressure:
            return int(pressure.readline().rsplit("total=", 1)[1]) * 1e-6
    except (OSError, IndexError, ValueError):
        return 0.0


def between(first: Snapshot, last: Snapshot, own_s: float) -> dict:
    """The `noise` object of a record. `own_s`: processor time of server, generator and driver,
    which is not foreign. Shares are of all processors' time, but pressure of the elapsed time."""
    elapsed_s = max(last.at_s - first.at_s, 1e-9)
    capacity_s = elapsed_s * (os.cpu_count() or 1)
    foreign_s = max(0.0, last.busy_s - first.busy_s - own_s)
    return {"steal_percent": round(100 * (last.steal_s - first.steal_s) / capacity_s, 3),
            "foreign_cpu_percent": round(100 * foreign_s / capacity_s, 3),
            "cpu_pressure_percent": round(
                min(100.0, 100 * (last.pressure_s - first.pressure_s) / elapsed_s), 3)}
