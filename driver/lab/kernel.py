"""What the kernel lets this process do, found out by asking it: io_uring and hardware counters."""
from __future__ import annotations

import ctypes
import errno
import os
import struct

# The same numbers on every architecture since the tables were unified (Linux 5.1).
IO_URING_SETUP = 425
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}

_PERF_ATTRIBUTE_BYTES = 64  # PERF_ATTR_SIZE_VER0
_PERF_DISABLED_AND_USER_ONLY = 1 << 0 | 1 << 5 | 1 << 6  # disabled, exclude_kernel, exclude_hv
_PERF_TYPE_HARDWARE = 0
_PERF_COUNT_HW_CPU_CYCLES = 0


def _close(descriptor: int) -> int:
    """0 when it is a descriptor, which is closed; else the error number of the call."""
    if descriptor < 0:
        return ctypes.get_errno()
    os.close(descriptor)
    return 0


def _syscall():
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    return call


def io_uring_error() -> int:
    """Error number of io_uring_setup for a ring of two entries; 0 when it works. ENOSYS: too old a
    kernel; EPERM or EACCES: switched off, or filtered by seccomp."""
    parameters = ctypes.create_string_buffer(120)  # struct io_uring_params
    return _close(_syscall()(IO_URING_SETUP, 2, parameters))


def cycle_counter_error(machine: str | None = None) -> int:
    """Error number of perf_event_open for the cycles of this thread in user mode; 0 when it works.
    ENOENT or EOPNOTSUPP: no PMU; EACCES or EPERM: not allowed; ENOSYS: unknown architecture."""
    number = PERF_EVENT_OPEN.get(machine or os.uname().machine)
    if number is None:
        return errno.ENOSYS
    attribute = ctypes.create_string_buffer(
        struct.pack("IIQQQQQIIQ", _PERF_TYPE_HARDWARE, _PERF_ATTRIBUTE_BYTES,
                    _PERF_COUNT_HW_CPU_CYCLES, 0, 0, 0, _PERF_DISABLED_AND_USER_ONLY, 0, 0, 0),
        _PERF_ATTRIBUTE_BYTES)
    return _close(_syscall()(number, attribute, 0, -1, -1, ctypes.c_ulong(0)))
