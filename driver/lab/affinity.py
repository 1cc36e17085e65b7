"""Where server and load generator run: anywhere, on the same cores, or each on its own half."""
from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

from driver.console import Problem


@dataclass(frozen=True)
class Pinning:
    """Cores of the server and of the generator; None: wherever the kernel likes."""

    server: frozenset[int] | None = None
    generator: frozenset[int] | None = None


def choose(pin: str) -> Pinning:
    """`none`, `shared` or `split`; Problem when there are not two cores to split."""
    cores = sorted(os.sched_getaffinity(0))
    if pin == "none":
        return Pinning()
    if pin == "shared":
        return Pinning(frozenset(cores), frozenset(cores))
    if len(cores) < 2:
        raise Problem("--pin split needs two cores, and this process may use one; "
                      "allowed here: shared, none")
    half = len(cores) // 2
    return Pinning(frozenset(cores[:half]), frozenset(cores[half:]))


@contextlib.contextmanager
def on(cores: frozenset[int] | None) -> Iterator[None]:
    """What is started inside inherits these cores."""
    if cores is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
