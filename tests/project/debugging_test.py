#!/usr/bin/env python3
"""gdb and valgrind understand programs with fibers.

usage: debugging_test.py PROGRAM
"""
import shutil
import subprocess
import sys
import unittest

PROGRAM = sys.argv[1]


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=120, check=False)


class Debugging(unittest.TestCase):
    @unittest.skipUnless(shutil.which("gdb"), "needs gdb")
    def test_a_backtrace_in_a_fiber_ends_at_its_entry(self):
        done = run("gdb", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "set startup-with-shell off",
                   "-ex", "break innermost", "-ex", "run", "-ex", "backtrace", PROGRAM)
        frames = [line for line in done.stdout.splitlines() if line.startswith("#")]
        text = "\n".join(frames) + "\n" + done.stderr
        for frame, function in zip(frames, ("innermost", "middle", "outermost")):
            self.assertIn(f"{function} (", frame, text)
        self.assertIn("entry_of_fiber", frames[-1], text)
        self.assertNotIn("??", "\n".join(frames), text)
        self.assertNotRegex(text, "(?i)backtrace stopped|corrupt", text)

    @unittest.skipUnless(shutil.which("valgrind"), "needs valgrind")
    def test_valgrind_has_nothing_to_say(self):
        done = run("valgrind", "--error-exitcode=9", "--leak-check=full", PROGRAM)
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr[-4000:])
        self.assertIn("ERROR SUMMARY: 0 errors", done.stderr)
        self.assertNotIn("Warning: client switching stacks", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
