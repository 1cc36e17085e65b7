#!/usr/bin/env python3
"""What loadgen refuses, and that each refusal is one clear line and exit status 2.

usage: command_line_test.py LOADGEN HEDDLE-SERVER RUNTIME [HELLO-RAW-EPOLL]
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is

from support import LOADGEN, WAIT_S, heddle, measure, Run, validate

PORT = ("--port", "9")
LIMITED = (*PORT, "--requests", "1")


def run(*words):
    return subprocess.run([LOADGEN, *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=WAIT_S, check=False)


class CommandLine(unittest.TestCase):
    def assert_refused(self, words, *expected):
        with self.subTest(words=words):
            done = run(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertTrue(done.stderr.startswith("loadgen: "), done.stderr)
            for word in expected:
                self.assertIn(word, done.stderr)

    def test_more_threads_than_connections_are_refused(self):
        for threads, connections in ((8, 3), (2, 1), (256, 255)):
            self.assert_refused((*LIMITED, f"--threads={threads}", f"--connections={connections}"),
                                f"--threads {threads} with --connections {connections}",
                                f"at most {connections} threads")

    def test_zeros_and_junk_are_refused(self):
        for option in ("--port", "--threads", "--requests", "--duration-s", "--rate", "--pipeline",
                       "--payload-bytes"):
            words = ("--requests", "1") if option != "--requests" else ()
            words += PORT if option != "--port" else ()
            for value in ("0", "-1", "x"):
                self.assert_refused((*words, f"{option}={value}"), option)
        for value in ("0", "", "1x", "0x10", "010", " 1", "1.5", "1e3", "nan", "9" * 20):
            self.assert_refused((*LIMITED, f"--connections={value}"), "--connections")
        for option in ("--think-us", "--timeout-s", "--drain-s"):
            for value in ("-1", "nan", "1e99"):
                self.assert_refused((*LIMITED, f"{option}={value}"), option, "not a number from")

    def test_names_are_refused_with_those_allowed(self):
        self.assert_refused((*LIMITED, "--protocol", "htpp"), "htpp", "http, http-close, pipelined")
        self.assert_refused((*LIMITED, "--mode", "opened"), "opened", "closed, open, think")
        self.assert_refused((*LIMITED, "--mode", "open", "--rate", "1", "--arrivals", "normal"),
                            "normal", "constant, poisson")
        self.assert_refused((*LIMITED, "--nonsense"), "--nonsense")
        self.assert_refused((*LIMITED, "extra"), "extra")
        self.assert_refused((*LIMITED, "two\nlines"), "two?lines")

    def test_hosts_are_numeric(self):
        for host in ("example.org", "300.0.0.1", "", "[::1", "::1]", "127.0.0.1:80"):
            self.assert_refused((*LIMITED, "--host", host), "numeric IPv4 or IPv6")

    def test_options_that_contradict_each_other_are_refused(self):
        for words, expected in (
                (PORT, "--duration-s or --requests"),
                ((*LIMITED, "--duration-s", "1"), "--duration-s or --requests"),
                ((*LIMITED, "--mode", "think"), "--think-us"),
                ((*LIMITED, "--think-us", "5"), "--mode think"),
                ((*LIMITED, "--mode", "open"), "--rate"),
                ((*LIMITED, "--rate", "5"), "--mode open"),
                ((*LIMITED, "--arrivals", "poisson"), "--arrivals"),
                ((*LIMITED, "--pipeline", "4"), "--protocol pipelined"),
                ((*LIMITED, "--protocol", "pipelined"), "--pipeline"),
                ((*LIMITED, "--protocol", "pipelined", "--pipeline", "4", "--mode", "open",
                  "--rate", "5"), "--mode closed"),
                ((*LIMITED, "--payload-bytes", "5"), "--protocol echo"),
                ((*LIMITED, "--protocol", "echo", "--path", "/x"), "--path"),
                ((*LIMITED, "--path", "x"), "--path starts with '/'"),
                ((*LIMITED, "--path", "/a b"), "--path"),
                ((*LIMITED, "--path", "/a\r\nHost: b"), "--path"),
                (("--requests", "1"), "--port")):
            self.assert_refused(words, expected)

    def test_more_connections_than_descriptors_are_refused(self):
        limited = ["bash", "-c", 'ulimit -n 100; exec "$@"', "bash", LOADGEN, *LIMITED]
        done = subprocess.run([*limited, "--connections", "90"], capture_output=True, text=True,
                              timeout=WAIT_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--connections 90", done.stderr)
        self.assertIn("(100, see ulimit -n)", done.stderr)

    def test_help_names_every_exit_status(self):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("Exit status: 0; 1 when the run was cut short", done.stdout)
        self.assertTrue(done.stdout.endswith(".\n"))

    def test_the_result_goes_into_a_file_that_can_be_written(self):
        self.assert_refused((*LIMITED, "--output", "/nowhere/result.json"), "/nowhere/result.json",
                            "No such file")
        with heddle("hello") as server, tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "result.json"
            done = run("--port", server.port, "--requests", "100", "--output", str(path))
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            validate(json.loads(path.read_text(encoding="utf-8")))
            done = run("--port", server.port, "--requests", "100", "--output", "/dev/full")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertEqual(done.stderr, "loadgen: /dev/full: No space left on device\n")

    def test_ipv6_works_with_and_without_brackets(self):
        with heddle("hello", "::1") as server:
            for host in ("[::1]", "::1"):
                result = measure(server.port, "--host", host, "--requests", "100")
                self.assertEqual(result["target"], f"[::1]:{server.port}")
                self.assertEqual(result["responses"], 100)
            refused = Run("--port", server.port, "--host", "127.0.0.1", "--requests", "1").finish()
            self.assertEqual(refused.status, 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
