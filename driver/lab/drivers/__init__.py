"""The load drivers by name."""
from __future__ import annotations

from driver.console import Problem
from driver.lab.campaign import Measure
from driver.lab.drivers import system
from driver.lab.drivers.base import Driver
from driver.lab.drivers.apache import ApacheBench
from driver.lab.drivers.h2load import H2Load
from driver.lab.drivers.loadgen import Loadgen
from driver.lab.drivers.microbenchmarks import Fibers, Queues
from driver.lab.drivers.wrk import Wrk

DRIVERS: dict[str, Driver] = {driver.name: driver for driver in (
    Loadgen(), Wrk(), ApacheBench(), H2Load(), Queues(), Fibers())}


def named(name: str) -> Driver:
    return DRIVERS[name]


def choose(name: str, outputs: set[str]) -> str:
    """The driver's name, where `auto` is loadgen when the build has it, else wrk; Problem, with the
    package to install, when it is not available. `outputs`: what the build can make."""
    if name == "auto":
        name = "loadgen" if DRIVERS["loadgen"].output in outputs else "wrk"
    driver = DRIVERS[name]
    if name == "loadgen" and driver.output not in outputs:
        raise Problem("driver loadgen is unavailable: this build makes none")
    reason = driver.unavailable()
    if reason:
        raise Problem(f"driver {name} is unavailable: {reason}")
    return name


def check_measure(measure: Measure) -> None:
    """UsageProblem for a block that its driver can never run, before anything is built."""
    if measure.driver in ("wrk", "h2load"):
        for connections in measure.connections:
            for threads in measure.threads:
                system.even_share(measure.driver, connections, threads)
