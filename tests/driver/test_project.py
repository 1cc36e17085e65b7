"""The driver on a small meson project in a path with spaces, from setup to bench."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import support

MESON = """
project('heddle', 'cpp', default_options: ['buildtype=debugoptimized', 'optimization=3'])
zoo = configure_file(input: 'zoo.json', output: 'zoo.json', copy: true)
script = find_program('server.py')
foreach name : ['hello-epoll-work-sharing-locking', 'raw-epoll']
  custom_target(name, input: 'server.py', output: name, build_by_default: true,
                command: ['cp', '@INPUT@', '@OUTPUT@'])
endforeach
sh = find_program('sh')
test('fine', sh, args: ['-c', 'exit 0'], suite: 'unit')
test('ring', sh, args: ['-c', 'echo no io_uring; exit 77'], suite: 'unit')
test('tap', sh, args: ['-c', 'echo 1..2; echo ok 1 a; echo not ok 2 b'], protocol: 'tap',
     suite: 'bad')
test('slow', sh, args: ['-c', 'sleep 60'], timeout: 1, suite: 'bad')
test('long', sh, args: ['-c', 'exit 1'], suite: 'long')
# Stands in for a gtest program: writes its XML, or crashes before it does.
test('gtest', sh, args: ['-c', '''[ -e "$CRASH" ] && kill -SEGV $$
  echo '<testsuites><testsuite name="s">' \
    '<testcase name="a" classname="s"/></testsuite></testsuites>' > "${0#*xml:}"'''],
     protocol: 'gtest', suite: 'crash')
"""
OPTIONS = """
option('combinations', type: 'string', value: '')
option('sanitizer', type: 'combo', choices: ['none', 'address', 'thread'], value: 'none')
option('pairwise', type: 'boolean', value: false)
"""
NAME = "epoll-work-sharing-locking"
ZOO = {
    "combinations": [{"name": NAME, "available": True, "poller": "epoll",
                      "scheduler": "work-sharing", "queue": "locking"}],
    "servers": [{"name": f"hello-{NAME}", "binary": f"hello-{NAME}", "protocol": "hello",
                 "combination": NAME}],
    "peers": [{"name": "raw-epoll", "binary": "raw-epoll", "kind": "prefork",
               "protocols": ["hello"], "available": True},
              {"name": "go", "binary": "go", "kind": "shared", "protocols": ["hello"],
               "available": False, "reason": "needs golang-go"}],
}
EVERYTHING_INSTALLED = '#!/bin/sh\nshift 3\nfor name; do echo "$name installed"; done\n'


@unittest.skipUnless(shutil.which("meson") and shutil.which("c++"), "needs meson and a compiler")
class Project(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="heddle project ")
        cls.addClassCleanup(scratch.cleanup)
        cls.root = Path(scratch.name) / "a tree"
        cls.tools = Path(scratch.name) / "tools"
        support.write_program(cls.tools / "dpkg-query", EVERYTHING_INSTALLED)
        support.write_server(cls.root / "server.py")
        for name, text in (("meson.build", MESON), ("meson_options.txt", OPTIONS),
                           ("zoo.json", json.dumps(ZOO))):
            (cls.root / name).write_text(text, encoding="utf-8")
        shutil.copy(support.ROOT / "heddle", cls.root)
        shutil.copytree(support.ROOT / "driver", cls.root / "driver")

    def heddle(self, *words, code=0, root=None, **environment):
        """stdout's lines of a run from another directory, with CI set and no stdin."""
        done = subprocess.run(
            [str((root or self.root) / "heddle"), *words], cwd="/", stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
            env={**os.environ, "CI": "true", "PATH": f"{self.tools}:{os.environ['PATH']}",
                 **environment})
        self.err = done.stderr
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout.splitlines()

    def test_list_configures_first_and_prints_only_json(self):
        found = json.loads("\n".join(self.heddle("list", "--json")))
        self.assertEqual([entry["name"] for entry in found["peers"]], ["raw-epoll", "go"])
        self.assertTrue(found["servers"][0]["available"])
        self.assertEqual(self.heddle("list", "go"), [
            "peers (0 of 1 available)", "  go        shared, unavailable: needs golang-go", "",
            "presets (1 of 1 available)", "  go-uring"])
        self.heddle("list", "work-shraing", code=2)
        self.assertIn("nearest: work-sharing", self.err)

    def test_build_with_a_filter_builds_only_that(self):
        self.heddle("list")
        copy = self.root.parent / "copied tree"
        shutil.copytree(self.root, copy)
        self.heddle("build", "raw", root=copy)
        self.assertIn("belongs to another source tree", self.err)
        built = {path.name for path in (copy / "build").iterdir()}
        self.assertIn("raw-epoll", built)
        self.assertNotIn(f"hello-{NAME}", built)
        self.heddle("build", "golang", code=2, root=copy)
        self.heddle("build", "go", code=1, root=copy)
        self.assertIn("go is unavailable: needs golang-go", self.err)

    def test_changed_options_reconfigure_and_unchanged_ones_do_not(self):
        self.heddle("build", "-Dcombinations=epoll-*")
        self.heddle("build", "-Dcombinations=io_uring-*")
        self.assertIn("reconfiguring", self.err)
        self.heddle("build", "-Dcombinations=io_uring-*")
        self.assertNotIn("configuring", self.err)
        self.heddle("build", "-Dnonsense=1", code=1)
        self.assertIn('heddle: meson setup failed: meson.build', self.err)

    def test_a_run_closes_with_true_counts(self):
        lines = self.heddle("test", code=1)
        self.assertEqual(lines[-1], "3 passed, 2 failed, 1 skipped")
        for line in ("skipped (no io_uring): ring", "FAILED tap: 2 b", "FAILED slow"):
            self.assertIn(line, lines)
        self.assertEqual(self.heddle("test", "--suite", "unit")[-1],
                         "1 passed, 0 failed, 1 skipped")
        self.assertEqual(self.heddle("test", "--suite", "long", code=1)[-1],
                         "0 passed, 1 failed, 0 skipped")
        self.assertEqual(self.heddle("test", "--", "fine")[-1], "1 passed, 0 failed, 0 skipped")
        self.heddle("test", "--suite", "slow", code=2)
        self.assertIn("no suite 'slow'; allowed: bad, crash, long, unit", self.err)

    def test_a_crash_is_not_hidden_by_the_results_of_the_run_before(self):
        self.assertEqual(self.heddle("test", "--suite", "crash")[-1],
                         "1 passed, 0 failed, 0 skipped")
        lines = self.heddle("test", "--suite", "crash", code=1, CRASH="/")
        self.assertEqual(lines[-1], "0 passed, 1 failed, 0 skipped")
        self.assertIn("FAILED gtest", lines)

    def test_each_build_prints_its_counts_and_the_last_line_is_the_sum(self):
        lines = self.heddle("test", "--suite", "unit", "--sanitizer", "none",
                            "--sanitizer", "address", "--junit", str(self.root / "junit.xml"))
        self.assertIn("build-address: 1 passed, 0 failed, 1 skipped", lines)
        self.assertEqual(lines[-1], "2 passed, 0 failed, 2 skipped")
        self.assertIn('skipped="2"', (self.root / "junit.xml").read_text(encoding="utf-8"))

    @unittest.skipUnless(shutil.which("wrk"), "needs wrk")
    def test_bench_builds_measures_and_reports(self):
        lines = self.heddle("bench", "sharing", "--rounds", "1", "--seconds", "1", "--workers", "1",
                            "--connections", "2", "--peer", "gone=/bin/false", code=3)
        self.assertIn("1 of 4 cells failed; rounds.jsonl has the reasons", lines)
        report = next(line for line in lines if line.startswith("report: "))
        self.assertTrue(Path(report.removeprefix("report: ")).is_file())
        self.assertIn("4 rows, 1 round(s) as asked", self.err)
        data = next(line for line in lines if line.startswith("data: "))
        directory = str(Path(data.removeprefix("data: ")).parent)
        self.assertIn("complete", self.heddle("status", directory))
        records = Path(directory, "rounds.jsonl").read_bytes()
        self.heddle("resume", directory, code=3)
        self.assertEqual(Path(directory, "rounds.jsonl").read_bytes(), records)

    @unittest.skipUnless(shutil.which("wrk"), "needs wrk")
    def test_plan_shows_what_bench_would_do_and_measures_nothing(self):
        words = ("--driver", "wrk", "--seed", "4", "--rounds", "3", "--peer", "mine=/bin/false")
        lines = self.heddle("plan", *words)
        made = json.loads("\n".join(self.heddle("plan", "--json", *words)))
        self.assertIn("  raw-epoll A'  reference A'", lines)
        self.assertIn("unavailable: go: needs golang-go", lines)
        self.assertTrue(lines[-1].startswith("expected: "), lines[-1])
        self.assertEqual((made["schema"], made["seed"], made["rounds"]), ("heddle-plan-1", 4, 3))
        self.assertEqual([one["row"] for one in made["cells"]],
                         [f"hello-{NAME}", "raw-epoll", "raw-epoll A'", "mine"])
        self.heddle("plan", "work-shraing", code=2)
        self.assertIn("nearest: work-sharing", self.err)


if __name__ == "__main__":
    unittest.main()
