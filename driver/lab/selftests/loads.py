"""Single loads with a known flaw: a generator asked for too much, a server that stands still."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass

from driver.analysis import histograms
from driver.console import Problem
from driver.lab.drivers.loadgen import PROGRAM
from driver.lab.failures import CellFailure
from driver.lab.measure import check_of, command_of
from driver.lab.selftests.bench_cells import CONNECTIONS, Bench, cell, laboratory, make_plan
from driver.lab.server import Server

ABSURD_RPS = 5_000_000
OPEN_RPS = 2_000
RUN_S = 10.0
STOP_AFTER_S = 2.5
STOP_S = 5.0
# Half of the requests are meant for the stop, and wait from 0 to 5 s: 2.5 s is where a quarter of
# all is above. Arrivals by chance and the moment of the signal move it a little.
EXPECTED_P75_S = STOP_S / 2
TOLERANCE_S = 0.4
MOST_SEEN_BY_CLOSED_S = 0.1


@dataclass(frozen=True)
class Load:
    """The generator's object, and the p75 of its histogram in seconds."""

    told: dict
    p75_s: float

    def check(self, name: str) -> str:
        """pass, warn or fail of one of the generator's own checks; empty when it has none."""
        return self.told["checks"].get(name, {}).get("verdict", "")

    @property
    def latency_from(self) -> str:
        """`intended` where a stall counts in full, `send` where it does not."""
        return (self.told.get("latency") or {}).get("from", "")


def run(bench: Bench, options: list[str], stop_s: float = 0.0) -> Load:
    """One load on a server, which stands still for `stop_s` seconds from STOP_AFTER_S on. Problem
    when nothing can be read of it."""
    one = cell(bench, "A", "A", 0, RUN_S)
    lab = laboratory(bench, make_plan(bench, "loads", [one], 1), bench.directory)
    try:
        server = Server(command_of(one, lab), check_of(one))
    except CellFailure as failure:
        raise Problem(f"self-test: {failure}") from None
    try:
        server.wait_ready(bench.interrupt)
        return _load(bench, server, options, stop_s)
    except CellFailure as failure:
        raise Problem(f"self-test: {failure}") from None
    finally:
        server.stop()


def _load(bench: Bench, server: Server, options: list[str], stop_s: float) -> Load:
    words = [str(bench.build / PROGRAM), "--port", str(server.port), "--seed", str(bench.seed),
             "--connections", str(CONNECTIONS), "--threads", "1", *options]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            if stop_s:
                _pause(bench, STOP_AFTER_S)
                _stand_still(bench, server, stop_s)
            out, err = process.communicate(timeout=RUN_S * 6)
        except BaseException:
            process.kill()
            raise
    try:
        told = json.loads(out)
        buckets = histograms.buckets_of(told["histogram"])
    except (ValueError, KeyError, TypeError):
        raise Problem(f"loadgen: {(err or out).strip()[-300:] or 'nothing printed'}") from None
    return Load(told, (histograms.quantile(buckets, 0.75) or 0.0) * 1e-9)


def _stand_still(bench: Bench, server: Server, stop_s: float) -> None:
    os.killpg(server.session, signal.SIGSTOP)
    try:
        _pause(bench, stop_s)
    finally:
        os.killpg(server.session, signal.SIGCONT)


def _pause(bench: Bench, seconds: float) -> None:
    end_s = time.monotonic() + seconds
    while (left_s := end_s - time.monotonic()) > 0:
        bench.interrupt.check()
        time.sleep(min(left_s, 0.1))


def overloaded(bench: Bench) -> Load:
    """An open load at a rate that no thread can send."""
    return run(bench, ["--mode", "open", "--rate", str(ABSURD_RPS), "--duration-s", "2"])


def stalled(bench: Bench, mode: str) -> Load:
    """Ten seconds of `open` or `closed` load on a server that stands still for five of them."""
    options = ["--mode", mode, "--duration-s", f"{RUN_S:g}"]
    return run(bench, options + (["--rate", str(OPEN_RPS)] if mode == "open" else []), STOP_S)
