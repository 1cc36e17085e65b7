"""Load drivers: what they print becomes numbers, what goes wrong becomes a reason."""
import json
import os
import shutil
import subprocess
import unittest
from unittest import mock

import support
from driver.console import Problem
from driver.lab import counts, drivers, measure, server
from driver.lab.drivers import apache, h2load, loadgen, wrk
from driver.lab.drivers.base import Context
from driver.lab.failures import CellFailure
from driver.lab.measure import Turn
from lab_support import Scratch, cell, plan, references

# h2load does not take hello's bare line feeds.
JSON = (b'HTTP/1.1 200 OK\r\nServer: s\r\nDate: d\r\nContent-Type: application/json\r\n'
        b'Content-Length: 27\r\n\r\n{"message":"Hello, World!"}')
WRK_REPORT = """Running 1s test @ http://127.0.0.1:1/
  2 threads and 8 connections
  12345 requests in 1.10m, 1.2MB read
  Socket errors: connect 1, read 2, write 3, timeout 4
  Non-2xx or 3xx responses: 17
Requests/sec:  11222.50
"""
AB_REPORT = """Time taken for tests:   2.000 seconds
Complete requests:      10000
Failed requests:        7
   (Connect: 1, Receive: 2, Length: 3, Exceptions: 1)
Total transferred:      1290000 bytes
Requests per second:    5000.00 [#/sec] (mean)
"""
H2LOAD_REPORT = """finished in 2.01s, 4975.12 req/s, 1.00MB/s
requests: 10000 total, 10000 started, 10000 done, 9990 succeeded, 10 failed, 4 errored, 6 timeout
status codes: 9990 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 1.23MB (1290000) total, 0B (0) headers (space savings 0.00%), 0B (0) data
"""
STRACE_TABLE = """% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000060           1      4000           epoll_wait
 40.00    0.000040           1      2000       100 recvfrom
------ ----------- ----------- --------- --------- ----------------
100.00    0.000100           1      6000       100 total
"""


class Reports(unittest.TestCase):
    def test_wrk(self):
        outcome = wrk.parse(WRK_REPORT)
        self.assertEqual((outcome.requests, outcome.measured_s), (12345, 66.0))
        self.assertEqual(outcome.errors, {"connect": 1, "read": 2, "write": 3, "timeout": 4,
                                          "status": 17})
        self.assertEqual(outcome.throughput_rps, 11222.5)
        self.assertEqual(outcome.failure, "17 answers were not 2xx")
        with self.assertRaisesRegex(CellFailure, "unable to connect"):
            wrk.parse("Running\nunable to connect to 127.0.0.1:1\n")

    def test_ab(self):
        outcome = apache.parse(AB_REPORT)
        self.assertEqual((outcome.requests, outcome.measured_s, outcome.bytes_received),
                         (10000, 2.0, 1290000))
        self.assertEqual((outcome.errors["length"], outcome.errors["closed"]), (3, 1))
        self.assertEqual(outcome.failure, "")
        with self.assertRaisesRegex(CellFailure, "ab: apr_socket"):
            apache.parse("apr_socket_recv: Connection refused (111)")

    def test_h2load(self):
        outcome = h2load.parse(H2LOAD_REPORT)
        self.assertEqual((outcome.requests, outcome.measured_s), (9990, 2.01))
        self.assertEqual(outcome.errors, {"read": 4, "timeout": 6, "status": 0})
        self.assertRaisesRegex(CellFailure, "no output", h2load.parse, "")

    def test_loadgen_without_a_result_or_with_errors_fails_the_cell(self):
        with self.assertRaisesRegex(CellFailure, "loadgen: --port: junk"):
            loadgen.parse("", 2, "--port: junk")
        found = {"schema": "heddle-loadgen-1", "responses": 5, "duration_s": 1.0,
                 "throughput_rps": 5.0, "bytes_received": 240, "errors": {"closed": 2},
                 "generator_cpu": {"user_s": 0.1, "system_s": 0.1}, "complete": True,
                 "connections_requested": 4, "connections_established": 3,
                 "checks": {"connections": {"verdict": "fail"}, "little": {"verdict": "warn"}}}
        self.assertEqual(loadgen.parse(json.dumps(found), 1, "").failure,
                         "loadgen: 2 closed errors")
        found["errors"] = {}
        outcome = loadgen.parse(json.dumps(found), 0, "")
        self.assertEqual(outcome.failure, "loadgen: 3 of 4 connections were established")
        self.assertEqual(outcome.checks, {"connections": "fail", "little": "warn"})
        found["checks"], found["errors"] = {}, {"timeout": 3}
        outcome = loadgen.parse(json.dumps(found), 1, "")
        self.assertEqual((outcome.failure, outcome.notes), ("", ["3 requests timed out"]))
        found["errors"] = {}
        self.assertEqual(loadgen.parse(json.dumps(found), 1, "").failure,
                         "loadgen: the run was cut short")

    def test_strace(self):
        self.assertEqual(counts.parse_strace(STRACE_TABLE), {"epoll_wait": 4000, "recvfrom": 2000})

    def test_a_driver_that_is_not_installed_says_which_package(self):
        for name, package in (("wrk", "wrk"), ("ab", "apache2-utils"),
                              ("h2load", "nghttp2-client")):
            with mock.patch.object(shutil, "which", return_value=None):
                with self.assertRaisesRegex(
                        Problem, f"driver {name} is unavailable: .*Debian: {package}"):
                    drivers.choose(name, set())

    def test_loadgen_is_preferred_where_the_build_has_it(self):
        self.assertEqual(drivers.choose("auto", {"loadgen/loadgen"}), "loadgen")
        with mock.patch.object(shutil, "which", return_value="/usr/bin/wrk"):
            self.assertEqual(drivers.choose("auto", set()), "wrk")


class CommandLines(unittest.TestCase):
    def words(self, **changes):
        one = cell("x", "b", **changes)
        command = loadgen.command_of(one, 99, Context(support.ROOT, 7, 12))
        return dict(zip(command[1::2], command[2::2]))

    def test_loadgen_gets_what_the_cell_says_and_nothing_of_other_protocols(self):
        words = self.words()
        self.assertEqual((words["--port"], words["--seed"], words["--expect-bytes"]),
                         ("99", "7", "12"))
        self.assertNotIn("--payload-bytes", words)
        words = self.words(protocol="echo", parameters={"payload_bytes": 512})
        self.assertEqual(words["--payload-bytes"], "512")
        self.assertNotIn("--path", words)
        words = self.words(parameters={"mode": "think", "think_us": 1000})
        self.assertEqual((words["--mode"], words["--think-us"]), ("think", "1000"))
        words = self.words(parameters={"mode": "open", "rate_rps": 2500.5})
        self.assertEqual(words["--rate"], "2500.5")
        self.assertEqual(self.words(protocol="pipelined", parameters={"pipeline": 4})["--pipeline"],
                         "4")

    def test_servers_get_workload_parameters_last_and_only_ours_write_counters(self):
        scratch = Scratch("run")
        scratch.setUp()
        self.addCleanup(scratch.doCleanups)
        one = cell("x", "", kind="combination", run=("{build}/s", "fanout", "{host}", "{port}",
                                                     "{workers}"),
                   parameters={"workload": {"fibers": 8}})
        with scratch.laboratory(plan([one])) as lab:
            self.assertEqual(measure.command_of(one, lab, "/stats"),
                             [f"{scratch.place}/s", "fanout", "127.0.0.1", "{port}", "1",
                              "fibers=8", "--stats", "/stats"])
            peer = cell("x", "/bin/p", parameters={"workload": {"fibers": 8}})
            self.assertEqual(measure.command_of(peer, lab, "/stats"),
                             ["/bin/p", "127.0.0.1", "{port}", "1", "fibers=8"])


class Running(Scratch):
    def measure(self, one):
        with self.laboratory(plan([one])) as lab:
            return measure.measure(one, lab, Turn(1, 1))[0]

    def test_a_generator_that_fails_or_is_not_there_fails_the_cell_and_leaves_no_server(self):
        good = self.server("good")
        support.write_loadgen(self.place, "sys.exit('--port: junk')")
        self.assertEqual(self.measure(cell("x", good))["failure"], "loadgen: --port: junk")
        (self.place / "loadgen" / "loadgen").unlink()
        self.assertIn("cannot be run: No such file", self.measure(cell("x", good))["failure"])
        self.assertEqual(support.live_processes(str(self.place)), [])

    def test_a_warm_up_comes_before_and_is_not_counted(self):
        log = self.place / "runs"
        support.write_loadgen(self.place, f"open({str(log)!r}, 'a').write("
                                          "given['--duration-s'] + '\\n')")
        record = self.measure(cell("x", self.server("good"), warmup_s=0.05))
        self.assertTrue(record["ok"], record["failure"])
        self.assertEqual(log.read_text(), "0.05\n0.1\n")
        self.assertLess(record["measured_s"], record["elapsed_s"])

    def test_counters_are_those_that_a_heddle_server_writes(self):
        writes = ("import atexit, json; path = sys.argv[sys.argv.index('--stats') + 1]\n"
                  "signal.signal(signal.SIGTERM, lambda *_: sys.exit())\n"
                  "atexit.register(lambda: open(path, 'w').write("
                  "json.dumps({'counters': {'steals': 7}})))")
        ours = cell("ours", self.server("ours", prologue=writes), kind="combination",
                    run=("{binary}", "{host}", "{port}", "{workers}"))
        self.assertEqual(self.measure(ours)["counters"], {"steals": 7})
        self.assertIsNone(self.measure(cell("peer", self.server("peer")))["counters"])

    def test_a_microbenchmark_has_a_value_with_its_unit(self):
        program = support.write_program(self.place / "queue", """#!/usr/bin/python3
import json, sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
assert given["--workload"] == "pairwise" and given["--threads"] == "2"
print(json.dumps({"schema": "heddle-queue-bench-1", "operations": 10, "mops_per_second": 4.5}))
""")
        one = cell("locking", program, kind="queue", driver="queues", queue="locking",
                   parameters={"workers": 2, "workload": {"workload": "pairwise"}})
        record = self.measure(one)
        self.assertEqual((record["ok"], record["value"], record["unit"]),
                         (True, 4.5, "million operations/s"), record["failure"])
        support.write_program(program, "#!/bin/sh\necho lost an item >&2; exit 1\n")
        self.assertEqual(self.measure(one)["failure"], "queue: lost an item")

    @unittest.skipUnless(shutil.which("h2load"), "needs h2load")
    def test_h2load_loads_a_server(self):
        one = cell("x", self.server("json", JSON), driver="h2load", workload="json",
                   parameters={"requests": 200})
        record = self.measure(one)
        self.assertEqual((record["failure"], record["requests"]), ("", 200))

    @unittest.skipUnless(shutil.which("ab"), "needs ab")
    def test_ab_loads_a_server_with_a_connection_for_each_request(self):
        closing = ("class Once(Handler):\n    def handle(self):\n"
                   "        self.request.recv(4096); self.request.sendall(ANSWER)\n"
                   "Handler = Once")
        one = cell("x", self.server("good", prologue=closing), driver="ab", protocol="http-close",
                   parameters={"duration_s": 1})
        record = self.measure(one)
        self.assertEqual(record["failure"], "")
        self.assertGreater(record["requests"], 0)


def may_trace():
    """strace is here and may attach to our own children."""
    if not shutil.which("strace"):
        return False
    child = subprocess.Popen(["sleep", "60"])
    try:
        trace = counts.Trace([child.pid], support.Path(os.devnull))
        trace.process.kill()
        trace.process.communicate()
        return True
    except CellFailure:
        return False
    finally:
        child.kill()
        child.wait()


@unittest.skipUnless(may_trace(), "needs strace that may attach")
class Counting(Scratch):
    def test_system_calls_and_switches_of_peers_are_per_request(self):
        with mock.patch.object(counts, "SECONDS", 0.2):
            code, _, err = self.run_plan(plan(references(self.server("good"))), with_counts=True)
        self.assertEqual(code, 0, err)
        text = (self.results / "counts.jsonl").read_text(encoding="utf-8")
        found = [json.loads(line) for line in text.splitlines()]
        self.assertEqual(len(found), 1)
        calls = found[0]["system_calls_per_request"]
        self.assertAlmostEqual(calls["sendto"], 1, delta=0.2)
        self.assertAlmostEqual(calls["recvfrom"], 1, delta=0.2)
        self.assertGreater(found[0]["voluntary_switches_per_request"], 0)
        self.assertIn("system calls (", counts.table(found))
        self.assertEqual(support.live_processes(str(self.place)), [])


class Ports(unittest.TestCase):
    def test_a_free_port_is_free(self):
        port = server.free_port()
        self.assertFalse(server.listens(port, [os.getpid()]))


if __name__ == "__main__":
    unittest.main()
