"""What the tests of the lab share: small plans over programs of the test, runs of them."""
import contextlib
import json
import os
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import support
from driver.lab import bench, results, schema
from driver.lab.affinity import Pinning
from driver.lab.campaign import Campaign, Noise
from driver.lab.cells import AGAIN, Cell
from driver.lab.failures import Interrupt
from driver.lab.measure import Laboratory
from driver.lab.plan import Block, Plan

FACTS = {"cores_usable": 2, "commit": None, "build_hash": "b"}
GROUP = "hello, 2 connections, 1 worker"
REFERENCE = "raw-epoll"


def cell(row, binary, reference="", **changes):
    """A cell of one short load by the stand-in for loadgen."""
    parameters = {"workers": 1, "connections": 2, "threads": 1, "mode": "closed", "think_us": 0,
                  "rate_rps": 0, "payload_bytes": 0, "pipeline": 1, "duration_s": 0.1,
                  "tuning": {}, "workload": {}, **changes.pop("parameters", {})}
    values = {"group": GROUP, "block": 1, "workload": "hello", "kind": "peer", "sharing": "shared",
              "poller": None, "scheduler": None, "queue": None, "driver": "loadgen",
              "run": ("{binary}", "{host}", "{port}", "{workers}"), "binary": str(binary),
              **changes}
    return Cell(f"{row} | {values['group']}", row, reference=reference, parameters=parameters,
                **values)


def references(binary, **changes):
    return [cell(REFERENCE, binary, "A", **changes),
            cell(REFERENCE + AGAIN, binary, "A'", **changes)]


def plan(cells, rounds=1, warmup_rounds=0, **changes):
    """One block of these cells."""
    values = {"noise": Noise(100.0, 100.0), **changes}
    block = Block(1, "hello", "hello", warmup_rounds, rounds, rounds or 1, tuple(cells))
    return Plan("test", 7, (block,), **values)


class Scratch(unittest.TestCase):
    """A directory of the test's own, with a load generator in its build."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="heddle lab ")
        self.addCleanup(scratch.cleanup)
        self.place = Path(scratch.name)
        self.results = self.place / "results"
        support.write_loadgen(self.place)

    def server(self, name, *arguments, **options):
        return str(support.write_server(self.place / name, *arguments, **options))

    @contextlib.contextmanager
    def laboratory(self, made):
        with Interrupt() as interrupt:
            yield Laboratory(made, self.place, self.place, self.place / "cache", "b", "host",
                             Pinning(), interrupt)

    def start(self, made):
        """The results directory of a plan, as `bench` makes it."""
        results.make_directory(self.results, self.place)
        results.start(self.results, Campaign("test"), made, FACTS)

    def run_plan(self, made, with_counts=False):
        """(exit code, stdout, stderr); begins a directory, or goes on in it."""
        if not self.results.exists():
            self.start(made)
        # The mark of its run is for what it starts, not for other tests.
        with support.captured() as (out, err), mock.patch.dict(os.environ):
            code = bench.measure(self.results, made, SimpleNamespace(path=self.place), FACTS,
                                 with_counts)
        return code, out.getvalue(), err.getvalue()

    def records(self):
        """All records, each of which must validate."""
        text = (self.results / "rounds.jsonl").read_text(encoding="utf-8")
        found = [json.loads(line) for line in text.splitlines()]
        for record in found:
            self.assertEqual(schema.faults(record), [])
        return found
