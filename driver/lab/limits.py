"""The doctor on what a run may use: descriptors, ports, memory, disk, system calls."""
from __future__ import annotations

import errno
import os
import resource
import shutil
from pathlib import Path

from driver.lab import kernel
from driver.lab.findings import FIT, NOT_AVAILABLE, NOT_FIT, Finding, System, at_least

AREA = "limits"
DESCRIPTORS = 20_000      # ten thousand connections on each of both sides of a loopback
PROCESSES = 4_096         # the server of one thread a connection
MAPS = 65_530             # a fiber's stack and its guard page are two
BACKLOG = 1_024           # connections that arrive before a server has accepted one
PORTS = 20_000            # each closed connection keeps one for a minute
MEMORY_MIB = 1_024
DISK_MIB = 1_024


def _resource(name: str, number: int, needed: int, option: str) -> Finding:
    soft, hard = resource.getrlimit(number)
    limit = resource.RLIM_INFINITY
    found = hard if hard != limit else 2**31  # a run raises its soft limit to the hard one
    finding = at_least(AREA, name, found, needed,
                       f"raise the hard limit (ulimit -H{option}, /etc/security/limits.conf)")
    shown = [("unlimited" if value == limit else str(value)) for value in (soft, hard)]
    return Finding(AREA, name, finding.verdict, f"{shown[0]} (hard {shown[1]})", finding.advice)


def network(system: System) -> list[Finding]:
    """Backlog, ports for outgoing connections, and how soon they come back."""
    base = "/proc/sys/net"
    ports = (system.text(f"{base}/ipv4/ip_local_port_range") or "").split()
    count = int(ports[1]) - int(ports[0]) + 1 if len(ports) == 2 else None
    found = [
        at_least(AREA, "net.core.somaxconn", system.number(f"{base}/core/somaxconn"), BACKLOG,
                 f"sysctl -w net.core.somaxconn={BACKLOG}"),
        at_least(AREA, "local ports", count, PORTS,
                 "sysctl -w net.ipv4.ip_local_port_range='1024 65535'"),
    ]
    reuse = system.number(f"{base}/ipv4/tcp_tw_reuse")
    if reuse is None:
        return found + [Finding(AREA, "net.ipv4.tcp_tw_reuse", NOT_AVAILABLE, "cannot be read")]
    fit = reuse in (1, 2)  # 2: for loopback only
    return found + [Finding(
        AREA, "net.ipv4.tcp_tw_reuse", FIT if fit else NOT_FIT, str(reuse),
        "" if fit else "loads with a connection for each request run out of ports: "
                       "sysctl -w net.ipv4.tcp_tw_reuse=2")]


def io_uring(system: System, error: int | None = None) -> Finding:
    """Whether a ring can be made; `error` is that of io_uring_setup, by default tried now."""
    error = kernel.io_uring_error() if error is None else error
    release = system.text("/proc/sys/kernel/osrelease") or os.uname().release
    if error == 0:
        return Finding(AREA, "io_uring", FIT, f"works on Linux {release}")
    disabled = system.number("/proc/sys/kernel/io_uring_disabled")
    filters = system.text("/proc/self/status") or ""
    if error == errno.ENOSYS:
        advice = "needs Linux 5.19, or a container whose seccomp filter lets it through"
    elif disabled:
        advice = "sysctl -w kernel.io_uring_disabled=0"
    elif "Seccomp:\t2" in filters:
        advice = "a seccomp filter refuses it: run with a profile that allows io_uring_setup"
    else:
        advice = "rows with io_uring are left out"
    return Finding(AREA, "io_uring", NOT_FIT, f"{os.strerror(error)} on Linux {release}", advice)


def counters(system: System, error: int | None = None) -> Finding:
    """Hardware counters; `error` is that of perf_event_open, by default tried now."""
    error = kernel.cycle_counter_error() if error is None else error
    if error == 0:
        return Finding(AREA, "hardware counters", FIT, "cycles can be counted")
    if error in (errno.EACCES, errno.EPERM):
        level = system.number("/proc/sys/kernel/perf_event_paranoid")
        return Finding(AREA, "hardware counters", NOT_FIT,
                       f"{os.strerror(error)}, kernel.perf_event_paranoid is {level}",
                       "sysctl -w kernel.perf_event_paranoid=1, or allow it in the container")
    return Finding(AREA, "hardware counters", NOT_AVAILABLE, "no PMU",
                   "columns of cycles and misses read 'N/A: no PMU'")


def memory(system: System) -> Finding:
    """What can be had without swapping."""
    for line in (system.text("/proc/meminfo") or "").splitlines():
        if line.startswith("MemAvailable:"):
            return at_least(AREA, "memory MiB", int(line.split()[1]) // 1024, MEMORY_MIB,
                            "stop something; 10,000 fibers with their stacks need this much")
    return Finding(AREA, "memory MiB", NOT_AVAILABLE, "no /proc/meminfo")


def disk(directory: Path) -> Finding:
    """Room for results and for a build; `directory` exists."""
    free = shutil.disk_usage(directory).free // 2**20
    if not os.access(directory, os.W_OK):
        return Finding(AREA, "disk MiB", NOT_FIT, "not writable", f"make {directory} writable")
    return at_least(AREA, "disk MiB", free, DISK_MIB, "results go elsewhere with --out DIR")


def all_findings(system: System, directory: Path) -> list[Finding]:
    """Every line about limits; results would go below `directory`."""
    return [
        _resource("open files", resource.RLIMIT_NOFILE, DESCRIPTORS, "n"),
        _resource("processes", resource.RLIMIT_NPROC, PROCESSES, "u"),
        at_least(AREA, "vm.max_map_count", system.number("/proc/sys/vm/max_map_count"), MAPS,
                 f"sysctl -w vm.max_map_count={MAPS}"),
        *network(system), io_uring(system), counters(system), memory(system), disk(directory),
    ]
