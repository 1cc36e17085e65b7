#!/usr/bin/env python3
"""Illegal pairs of queue and scheduler do not compile, and the compiler's message says why.

usage: refusal_test.py SOURCE_ROOT COMPILER...   (environment: none)
"""
import subprocess
import sys
import unittest

ROOT, COMPILER = sys.argv[1], sys.argv[2:]


def diagnostics(queue, scheduler):
    """What the compiler says of the pair; the empty string when it compiles."""
    code = (f"#include <heddle/queues/{queue}.hpp>\n#include <heddle/schedulers/{scheduler}.hpp>\n"
            f"template struct heddle::{scheduler}<heddle::{queue}>;\n")
    done = subprocess.run([*COMPILER, "-std=c++20", f"-I{ROOT}/include", "-fsyntax-only", "-x", "c++", "-"],
                          input=code, capture_output=True, text=True, timeout=120, check=False)
    return "" if done.returncode == 0 else done.stderr


class Refusal(unittest.TestCase):
    def test_a_queue_with_one_owner_is_refused_under_sharing_with_the_reason(self):
        said = diagnostics("bounded_spmc", "work_sharing")
        self.assertIn("work_sharing needs a queue that any worker may push to and pop from", said)

    def test_a_deque_is_refused_under_sharing_with_the_reason(self):
        for queue in ("chase_lev", "block_stealing"):
            self.assertIn("work_sharing needs a queue that any worker may push to and pop from",
                          diagnostics(queue, "work_sharing"))

    def test_the_same_queues_are_accepted_under_stealing(self):
        for queue in ("bounded_spmc", "chase_lev", "block_stealing"):
            self.assertEqual(diagnostics(queue, "work_stealing"), "")

    def test_an_inbox_is_refused_by_every_scheduler_with_the_reason(self):
        self.assertIn("work_sharing needs a queue that any worker may push to and pop from",
                      diagnostics("inbox_mpsc", "work_sharing"))
        self.assertIn("work_stealing needs a queue that any worker may steal or pop from",
                      diagnostics("inbox_mpsc", "work_stealing"))

    def test_a_queue_for_any_is_accepted_under_sharing(self):
        self.assertEqual(diagnostics("locking", "work_sharing"), "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
