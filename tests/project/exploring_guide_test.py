#!/usr/bin/env python3
"""Follows docs/exploring.md word for word: compiles its queue and its client, expects the bug to be told with a
trace and a seed, and the queue to pass once it is mended as the guide says.

usage: exploring_guide_test.py SOURCE_ROOT COMPILER...
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT, COMPILER = pathlib.Path(sys.argv[1]), sys.argv[2:]
GUIDE = (ROOT / "docs/exploring.md").read_text(encoding="utf-8")


def block(name):
    """The code block of the guide that is called `name`."""
    found = re.findall(rf"^```cpp {re.escape(name)}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    assert len(found) == 1, f"{name}: {len(found)} blocks"
    return found[0]


def commands():
    return [line for text in re.findall(r"^```sh\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
            for line in text.splitlines()]


class ExploringGuide(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "include").symlink_to(ROOT / "include")
        (self.folder / "tests").symlink_to(ROOT / "tests")
        (self.folder / "check.cpp").write_text(block("check.cpp"), encoding="utf-8")
        self.compile_command, self.run_command, self.replay_command = commands()

    def test_the_wrong_queue_is_caught_and_the_right_one_passes(self):
        ring = block("ring.hpp")
        self.build(ring)
        status, output = self.run_check(self.run_command)
        self.assertEqual(status, 1, output)
        told = re.search(r"^```text\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)[1]
        self.assertIn(told, output)
        for expected in (r"^step +thread 0 +thread 1 +source$",
                         r"store a2 = 1 \(relaxed\) +ring\.hpp:\d+  tail_\.store\(",
                         r"load a2: [1-3] \(acquire\) from #\d+.*ring\.hpp:\d+  if \(tail_\.load\(",
                         r"FAILED: data race on c1"):
            self.assertRegex(output, re.compile(expected, re.MULTILINE))

        seed = re.search(r"^  seed (\S+)$", output, re.MULTILINE)[1]
        status, replayed = self.run_check(self.replay_command.replace("SEED", seed))
        self.assertEqual(status, 1, replayed)
        self.assertIn("explore ring: 1 executions", replayed)
        self.assertEqual(replayed.splitlines()[1:], output.splitlines()[1:])

        wrong, right = block("fix").splitlines()
        self.assertEqual(ring.count(wrong), 1)
        self.build(ring.replace(wrong, right))
        status, output = self.run_check(self.run_command)
        self.assertEqual(status, 0, output)
        self.assertRegex(output, r"^explore ring: \d+ executions, .*complete$")

    def build(self, ring):
        (self.folder / "ring.hpp").write_text(ring, encoding="utf-8")
        arguments = self.compile_command.split()
        self.assertEqual(arguments[0], "g++")
        status, output = self.run_check(" ".join(COMPILER + ["-Wall", "-Wextra", "-Werror"] + arguments[1:]))
        self.assertEqual(status, 0, output)

    def run_check(self, command):
        environment = {name: value for name, value in os.environ.items() if name != "HEDDLE_REPLAY"}
        done = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              cwd=self.folder, env=environment, timeout=900, check=False)
        return done.returncode, done.stdout


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
