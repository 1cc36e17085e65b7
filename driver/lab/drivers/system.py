"""Load generators that come as packages: where they are, what they print as numbers."""
from __future__ import annotations

import re
import shutil

from driver.console import Problem, UsageProblem
from driver.lab.cells import Cell

_UNIT_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def program(name: str, package: str) -> str:
    """The path of a program; Problem that names its package."""
    path = shutil.which(name)
    if not path:
        raise Problem(f"{name} not found: it is in Debian's package {package}")
    return path


def missing(name: str, package: str) -> str:
    """Empty when the program is there, else what to install."""
    return "" if shutil.which(name) else f"needs {name} (Debian: {package})"


def seconds(text: str) -> float:
    """`1.10m` or `250.00ms` in seconds."""
    match = re.fullmatch(r"([\d.]+)(us|ms|s|m|h)", text)
    if not match:
        raise ValueError(f"'{text}' is no time")
    return float(match.group(1)) * _UNIT_S[match.group(2)]


def only(driver: str, cell: Cell, protocols: tuple[str, ...]) -> None:
    """UsageProblem for a protocol or a mode that the program does not have."""
    if cell.protocol not in protocols:
        raise UsageProblem(f"driver {driver} cannot speak {cell.protocol}; "
                           f"allowed: {', '.join(protocols)} (or driver loadgen)")
    if cell.parameters["mode"] != "closed":
        raise UsageProblem(f"driver {driver} has no mode {cell.parameters['mode']}; "
                           "allowed: closed (or driver loadgen)")


def even_share(driver: str, connections: int, threads: int) -> None:
    """UsageProblem where threads would round the number of connections."""
    if connections < threads or connections % threads:
        down = max(connections // threads, 1) * threads
        raise UsageProblem(f"--connections {connections}: each of {driver}'s {threads} threads "
                           f"gets the same number; take {down} or {down + threads}")
