"""The doctor on processors: how many, who else uses them, how steadily they run."""
from __future__ import annotations

import os
import time

from driver.environment import FEW_CORES, SHARED_CORES
from driver.lab.findings import FIT, NOT_AVAILABLE, NOT_FIT, Finding, System

AREA = "processors"
MOST_STEAL_PERCENT = 1.0    # the limits of the noise gate of a round
MOST_FOREIGN_PERCENT = 5.0
MOST_PRESSURE_PERCENT = 10.0


def usable() -> Finding:
    """Processors that this process may run on."""
    cores, online = len(os.sched_getaffinity(0)), os.cpu_count() or 1
    value = f"{cores} of {online} usable"
    if cores > FEW_CORES:
        return Finding(AREA, "processors", FIT, value)
    advice = f"reports say '{SHARED_CORES}'; rely on paired ratios and on processor time"
    return Finding(AREA, "processors", NOT_FIT, value, advice)


def quota(system: System) -> Finding:
    """The smallest limit that a control group above this process sets, in processors."""
    limits = []
    for line in (system.text("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        parts = [part for part in path.split("/") if part]
        for depth in range(len(parts) + 1):
            below = "/".join(parts[:depth])
            for mount in ("", "unified/") if not controllers else (f"{controllers}/",):
                limits.append(_limit(system, f"/sys/fs/cgroup/{mount}{below}"))
    found = [limit for limit in limits if limit is not None]
    if not found:
        return Finding(AREA, "quota", FIT, "none")
    return Finding(AREA, "quota", NOT_FIT, f"{min(found):.3g} processors",
                   "a control group throttles in periods of about 100 ms, which shows as latency: "
                   "lift cpu.max, or run outside of the group")


def _limit(system: System, group: str) -> float | None:
    unified = (system.text(f"{group}/cpu.max") or "max 1").split()
    if unified[0] != "max":
        return int(unified[0]) / int(unified[1])
    share = system.number(f"{group}/cpu.cfs_quota_us")
    period = system.number(f"{group}/cpu.cfs_period_us")
    return share / period if share and share > 0 and period else None


def _ticks(system: System) -> list[int]:
    """user, nice, system, idle, iowait, irq, softirq, steal of all processors together."""
    words = (system.text("/proc/stat") or "cpu 0 0 0 0 0 0 0 0").splitlines()[0].split()
    return [int(word) for word in words[1:9]]


def others(system: System, sample_s: float = 1.0) -> list[Finding]:
    """Steal time and what other processes use while this one sleeps for `sample_s` seconds."""
    before = _ticks(system)
    time.sleep(sample_s)
    passed = [after - earlier for earlier, after in zip(before, _ticks(system))]
    total = sum(passed)
    if not total:
        return [Finding(AREA, "steal", NOT_AVAILABLE, "no /proc/stat")]
    steal = 100 * passed[7] / total
    foreign = 100 * (total - passed[3] - passed[4] - passed[7]) / total
    return [
        _below("steal", steal, MOST_STEAL_PERCENT,
               "the hypervisor gives the time to others: use dedicated processors or another hour"),
        _below("other processes", foreign, MOST_FOREIGN_PERCENT,
               "stop what else runs; rounds with this much of it are repeated"),
    ]


def _below(name: str, percent: float, most: float, advice: str) -> Finding:
    fit = percent <= most
    return Finding(AREA, name, FIT if fit else NOT_FIT, f"{percent:.1f} % in a second",
                   "" if fit else advice)


def pressure(system: System) -> Finding:
    """Share of the last ten seconds in which something waited for a processor."""
    text = system.text("/proc/pressure/cpu")
    if not text:
        return Finding(AREA, "pressure", NOT_AVAILABLE, "no /proc/pressure",
                       "boot with psi=1 to have it in every round")
    percent = float(text.split("avg10=")[1].split()[0])
    fit = percent <= MOST_PRESSURE_PERCENT
    return Finding(AREA, "pressure", FIT if fit else NOT_FIT, f"{percent:.1f} % of ten seconds",
                   "" if fit else "tasks wait for processors before any load has started")


def frequency(system: System) -> list[Finding]:
    """Governor and turbo, as far as the machine lets us see."""
    base = "/sys/devices/system/cpu"
    governors = sorted({system.text(path) or "" for path in
                        system.paths(f"{base}/cpu[0-9]*/cpufreq/scaling_governor")})
    if governors:
        fit = governors == ["performance"]
        found = [Finding(AREA, "governor", FIT if fit else NOT_FIT, ", ".join(governors),
                         "" if fit else "as root: cpupower frequency-set -g performance")]
    else:
        found = [Finding(AREA, "governor", NOT_AVAILABLE, "no cpufreq",
                         "frequency is the hypervisor's or the firmware's: only pairs compare")]
    no_turbo, boost = (system.number(f"{base}/intel_pstate/no_turbo"),
                       system.number(f"{base}/cpufreq/boost"))
    if no_turbo is None and boost is None:
        return found + [Finding(AREA, "turbo", NOT_AVAILABLE, "not shown")]
    is_on = no_turbo == 0 if no_turbo is not None else boost == 1
    where = ("intel_pstate/no_turbo to 1" if no_turbo is not None else "cpufreq/boost to 0")
    return found + [Finding(AREA, "turbo", NOT_FIT if is_on else FIT, "on" if is_on else "off",
                            f"as root: set {base}/{where}" if is_on else "")]


def threads(system: System) -> Finding:
    """Simultaneous multithreading: two of our processors may be one core."""
    active = system.number("/sys/devices/system/cpu/smt/active")
    if active is None:
        return Finding(AREA, "SMT", NOT_AVAILABLE, "not shown")
    return Finding(AREA, "SMT", NOT_FIT if active else FIT, "on" if active else "off",
                   "pin server and generator to different cores (thread_siblings_list), or switch "
                   "it off: echo off > /sys/devices/system/cpu/smt/control" if active else "")


def mitigations(system: System) -> Finding:
    """What the kernel does against speculation; system calls cost more with it."""
    base = "/sys/devices/system/cpu/vulnerabilities"
    active = [path.rsplit("/", 1)[1] for path in system.paths(f"{base}/*")
              if (system.text(path) or "").startswith("Mitigation")]
    if not system.paths(f"{base}/*"):
        return Finding(AREA, "mitigations", NOT_AVAILABLE, "not shown")
    return Finding(AREA, "mitigations", FIT, ", ".join(active) or "none",
                   "recorded; compare only with runs that have the same" if active else "")


def pinning() -> Finding:
    """Whether this process may put itself on one processor."""
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        os.sched_setaffinity(0, allowed)
    except OSError as error:
        return Finding(AREA, "pinning", NOT_FIT, f"refused: {error.strerror}",
                       "--pin split and --pin shared need sched_setaffinity")
    if len(allowed) < 2:
        return Finding(AREA, "pinning", NOT_FIT, "one processor only",
                       "--pin split needs two: give the process a second one")
    return Finding(AREA, "pinning", FIT, f"may pin to each of {len(allowed)}")


def clock(system: System) -> Finding:
    """A clock that needs a system call would be part of every latency."""
    base = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    source = system.text(base)
    if source is None:
        return Finding(AREA, "clock", NOT_AVAILABLE, "not shown")
    fit = source in ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")
    return Finding(AREA, "clock", FIT if fit else NOT_FIT, source,
                   "" if fit else f"reading it takes a system call: write tsc to {base}")


def all_findings(system: System) -> list[Finding]:
    """Every line about processors; takes one second."""
    return [usable(), quota(system), *others(system), pressure(system), *frequency(system),
            threads(system), mitigations(system), pinning(), clock(system)]
