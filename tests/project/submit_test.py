#!/usr/bin/env python3
"""A small campaign, really measured through each engine: on this machine, over ssh, by Slurm.

usage: submit_test.py SOURCE_ROOT

The build in SOURCE_ROOT/build is used, and made when it is missing.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import slurm_cluster

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "tests" / "driver"))
import ssh_server  # pylint: disable=wrong-import-position

CAMPAIGN = """schema = "heddle-campaign-1"
name = "submitted"
rounds = 2

[[measure]]
workload = "hello"
combinations = ["epoll-work-sharing-locking"]
peers = []
reference = "raw-epoll"
connections = 8
workers = 1
threads = 1
seconds = 0.2
"""
ROWS = {"raw-epoll", "raw-epoll A'", "hello-epoll-work-sharing-locking"}


class Submit(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="heddle-submit-")
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        self.place.chmod(0o755)
        self.campaign = self.place / "submitted.toml"
        self.campaign.write_text(CAMPAIGN, encoding="utf-8")
        self.out = self.place / "out"

    def heddle(self, *words, environment=None):
        done = subprocess.run([str(ROOT / "heddle"), *map(str, words)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False,
                              env={**os.environ, **(environment or {})})
        logs = "".join(path.read_text(encoding="utf-8", errors="replace") for path in
                       [*self.out.glob("engine.log"), *self.out.glob("blocks/*/run.log")])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + logs)
        return done.stdout

    def check(self, told: str, parts: int):
        """Every round of every part is there once, with every row, and the report reads them."""
        blocks = sorted((self.out / "blocks").glob("*/rounds.jsonl"))
        self.assertEqual(len(blocks), parts, told)
        seeds = set()
        for path in blocks:
            records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            self.assertTrue(all(record["ok"] for record in records), records)
            plan = json.loads((path.parent / "plan.json").read_text(encoding="utf-8"))
            seeds.add(plan["seed"])
            rounds = range(1, plan["blocks"][0]["rounds"] + 1)
            self.assertEqual(sorted((record["round"], record["row"]) for record in records),
                             sorted((number, row) for number in rounds for row in ROWS))
            self.assertTrue((path.parent / "environment.json").is_file())
        self.assertEqual(len(seeds), parts)
        line = next(line for line in told.splitlines() if line.startswith("./heddle report "))
        report = self.heddle(*line.split()[1:])
        self.assertIn("hello-epoll-work-sharing-locking", report)

    def test_on_this_machine(self):
        told = self.heddle("submit", self.campaign, "--parts", 2, "--seed", 5, "--out", self.out)
        self.check(told, parts=2)

    def test_over_ssh(self):
        if reason := ssh_server.why_not():
            self.skipTest(reason)
        keys = self.place / "keys"
        keys.mkdir(mode=0o700)
        with ssh_server.running(keys) as config:
            told = self.heddle("submit", self.campaign, "--engine", "ssh", "--hosts",
                               ssh_server.HOST, "--parts", 2, "--out", self.out, environment={
                                   "HOME": str(self.place), "PARALLEL_SSH": f"ssh -F {config}"})
        self.check(told, parts=2)

    def test_by_slurm(self):
        if reason := slurm_cluster.why_not():
            self.skipTest(reason)
        with slurm_cluster.running(self.place) as cluster:
            told = self.heddle("submit", self.campaign, "--engine", "slurm", "--parts", 2,
                               "--out", self.out, environment=cluster.environment)
        self.check(told, parts=2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
