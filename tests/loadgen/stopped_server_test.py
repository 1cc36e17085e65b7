#!/usr/bin/env python3
"""A server that stands still for half of a run: open mode counts all the time that requests waited,
closed mode cannot, since it sends none meanwhile.

usage: stopped_server_test.py LOADGEN HEDDLE-SERVER RUNTIME [HELLO-RAW-EPOLL] SECONDS
"""
import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is

from support import Run, heddle

STOPPED_S = float(sys.argv[-1])


def run_with_a_stop(*words):
    """A run twice as long as the stop within it; also for how long the server was stopped."""
    with heddle("hello") as server:
        run = Run("--port", server.port, "--connections", 32, "--duration-s", 2 * STOPPED_S, *words)
        run.wait_for_connections(32)
        time.sleep(STOPPED_S / 4)
        began_s = time.monotonic()
        server.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED_S)
        server.send_signal(signal.SIGCONT)
        stopped_s = time.monotonic() - began_s
        return run.finish(), stopped_s


class StoppedServer(unittest.TestCase):
    def test_open_mode_counts_from_the_time_that_requests_were_due(self):
        for arrivals in ("constant", "poisson"):
            with self.subTest(arrivals=arrivals):
                run, stopped_s = run_with_a_stop("--mode", "open", "--rate", 1000, "--arrivals",
                                                 arrivals)
                self.assertEqual((run.status, run.error), (0, ""), run.result["errors"])
                latency = run.result["latency"]
                self.assertEqual(latency["from"], "intended")
                # Of the requests that were due while it stood, which are a share of stopped / 2 S,
                # latencies are spread evenly from 0 to the whole stop.
                expected_s = stopped_s - 0.25 * 2 * STOPPED_S
                self.assertAlmostEqual(latency["p75"] * 1e-9, expected_s, delta=0.1 * STOPPED_S)
                self.assertAlmostEqual(latency["max"] * 1e-9, stopped_s, delta=0.1 * STOPPED_S)
                self.assertEqual(run.result["responses"], run.result["requests"])
                self.assertNotEqual(run.result["checks"]["little"]["verdict"], "fail")

    def test_closed_mode_does_not_see_it_and_says_which_mode_it_is(self):
        run, stopped_s = run_with_a_stop()
        self.assertEqual((run.status, run.error), (0, ""), run.result["errors"])
        latency = run.result["latency"]
        self.assertEqual((run.result["mode"], latency["from"]), ("closed", "send"))
        self.assertLess(latency["p99"] * 1e-9, 0.1 * STOPPED_S)
        # Each connection waited once.
        self.assertGreaterEqual(latency["max"] * 1e-9, 0.9 * stopped_s)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
