"""The comparison end to end, against tiny fake servers; wrk is the real one."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import support
from driver import bench, rounds, wrk
from driver.console import Problem, UsageProblem
from driver.rounds import Journal, Plan, Row
from driver.servers import Interrupt, Interrupted, Server, ServerFailure
from driver.wrk import Load

WRK_REPORT = """Running 1s test @ http://127.0.0.1:1/
  2 threads and 8 connections
  12345 requests in 1.10m, 1.2MB read
  Socket errors: connect 1, read 2, write 3, timeout 4
  Non-2xx or 3xx responses: 17
Requests/sec:  11222.50
"""
FACTS = {"cores_usable": 2, "commit": None}
INTERRUPTED_BENCH = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from driver import bench
from driver.rounds import Plan, Row
from driver.wrk import Load
rows = tuple(Row(name, sys.argv[2]) for name in ("raw-epoll", "raw-epoll A'"))
plan = Plan(rows, Load(2, 1, 1), 1, 7, 60.0, 50)
sys.exit(bench.compare(plan, {"cores_usable": 2}, Path(sys.argv[3])))
"""


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="heddle bench ")
        self.addCleanup(scratch.cleanup)
        self.place = Path(scratch.name)

    def server(self, name, *arguments, **options):
        return str(support.write_server(self.place / name, *arguments, **options))


class Servers(Scratch):
    def start(self, binary):
        server = Server(binary, 1)
        self.addCleanup(server.stop, 0.1)
        return server

    def test_a_slow_start_is_waited_for_and_a_clean_stop_is_clean(self):
        server = Server(self.server("slow", prologue="time.sleep(0.3)"), 1)
        with Interrupt() as interrupt:
            server.wait_ready(interrupt)
        server.check_answer()
        stop = server.stop()
        self.assertEqual((stop.stop_signal, stop.killed_processes, stop.note), ("SIGTERM", 0, ""))
        self.assertEqual(support.live_processes(str(self.place)), [])

    def test_one_that_ignores_sigterm_is_killed_and_noted(self):
        deaf = ("signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                "if os.fork() == 0: time.sleep(60)")
        server = Server(self.server("deaf", prologue=deaf), 1)
        with Interrupt() as interrupt:
            server.wait_ready(interrupt)
        stop = server.stop(grace_s=0.2)
        self.assertEqual((stop.stop_signal, stop.killed_processes), ("SIGKILL", 2))
        self.assertIn("SIGKILL", stop.note)
        self.assertEqual(support.live_processes(str(self.place)), [])

    def test_wrong_bytes_a_death_and_silence_are_told_apart(self):
        silent = "import socket; l = socket.create_server((sys.argv[1], int(sys.argv[2])))"
        for prologue, answer, timeout_s, why in (
                ("", b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 40, 5, "wrong bytes: b'HTTP/1.1 200 OK"),
                ("", support.GOOD_ANSWER + b"!", 5, "wrong bytes"),
                ("sys.exit('in use')", b"", 5, "exit status 1 before it answered: in use"),
                (silent + "; time.sleep(60)", b"", 0.6, "no answer within 0.6 s")):
            server = self.start(self.server("server", answer, prologue))
            with Interrupt() as interrupt, self.assertRaisesRegex(ServerFailure, why):
                server.wait_ready(interrupt, timeout_s)

    def test_a_binary_that_cannot_run_is_a_failure_not_a_crash(self):
        with self.assertRaisesRegex(ServerFailure, "No such file"):
            Server(str(self.place / "absent"), 1)

    def test_processor_time_includes_forked_workers(self):
        busy = ("if os.fork() == 0:\n    end = time.monotonic() + 60\n"
                "    while time.monotonic() < end: pass")
        server = self.start(self.server("forks", prologue=busy))
        deadline_s = time.monotonic() + 10
        while server.processor().user_s < 0.2 and time.monotonic() < deadline_s:
            time.sleep(0.02)
        self.assertGreaterEqual(server.processor().user_s, 0.2)

    def test_a_signal_is_seen_at_the_next_check(self):
        before = signal.getsignal(signal.SIGINT)  # ignored when a shell runs this in the background
        with Interrupt() as interrupt:
            interrupt.check()
            os.kill(os.getpid(), signal.SIGTERM)
            self.assertRaises(Interrupted, interrupt.check)
        self.assertIs(signal.getsignal(signal.SIGINT), before)


class Wrk(unittest.TestCase):
    def test_the_report_becomes_numbers_with_units(self):
        result = wrk.parse(WRK_REPORT)
        self.assertEqual((result.requests, result.duration_s), (12345, 66.0))
        self.assertEqual((result.connect_errors, result.timeout_errors), (1, 4))
        self.assertEqual((result.throughput_rps, result.socket_errors), (11222.5, 10))
        self.assertEqual(result.wrong_status_responses, 17)

    def test_no_report_is_a_failure_with_its_last_line(self):
        with self.assertRaisesRegex(ServerFailure, "unable to connect"):
            wrk.parse("Running\nunable to connect to 127.0.0.1:1\n")

    def test_connections_that_wrk_would_round_are_refused(self):
        for connections, threads, hint in ((15, 8, "take 8 or 16"), (3, 8, "take 8 or 16")):
            with self.assertRaisesRegex(UsageProblem, hint):
                Load(connections, threads, 1)
        Load(16, 8, 1)


class Choosing(Scratch):
    def zoo(self, **reference):
        names = ["epoll-work-sharing-locking", "epoll-work-stealing-bounded-spmc"]
        common = {"binary": "b", "protocols": ["hello"], "available": True}
        missing = {"available": False, "reason": "needs golang-go"}
        return {"servers": [{**common, "name": f"{kind}-{name}", "combination": name}
                            for kind in ("hello", "hello-timeout") for name in names],
                "peers": [{**common, "name": "raw-epoll", "kind": "prefork", **reference},
                          {**common, "name": "libuv"}, {**common, "name": "go", **missing}]}

    def names(self, words, server="hello"):
        with support.captured() as (_, self.err):
            return [row.name for row in bench.select_rows(self.zoo(), words, server, self.place)]

    def test_all_servers_of_the_protocol_and_the_peers(self):
        self.assertEqual(self.names([]), ["hello-epoll-work-sharing-locking",
                                          "hello-epoll-work-stealing-bounded-spmc", "libuv"])
        self.assertIn("go is unavailable: needs golang-go", self.err.getvalue())
        self.assertEqual(self.names(["spmc"], "hello-timeout"),
                         ["hello-timeout-epoll-work-stealing-bounded-spmc"])

    def test_filter_words_choose_servers_and_keep_peers_beside(self):
        self.assertEqual(self.names(["steal", "spmc"]),
                         ["hello-epoll-work-stealing-bounded-spmc", "libuv"])
        self.assertEqual(self.names(["uv"]), ["libuv"])
        self.assertEqual(self.names(["raw-epoll"]), [])
        with self.assertRaisesRegex(UsageProblem, "nearest: .*bounded-spmc"):
            self.names(["bounded-smpc"])

    def test_the_reference_is_there_twice_or_it_is_a_problem(self):
        rows = bench.reference_rows(self.zoo(), self.place)
        self.assertEqual([row.name for row in rows], [bench.REFERENCE, bench.REFERENCE_AGAIN])
        with self.assertRaisesRegex(Problem, "unavailable: needs luck"):
            bench.reference_rows(self.zoo(available=False, reason="needs luck"), self.place)

    def test_seconds_and_rounds_fit_the_budget(self):
        def plan(rows, count=None):
            request = bench.Request([], "hello", 2, 128, None, count, 240.0, 1, None)
            return bench.make_plan(request, [Row(str(i), "x") for i in range(rows)])
        self.assertEqual((plan(28).load.seconds, plan(28).expected_rounds()), (1, 6))
        self.assertEqual((plan(6).load.seconds, plan(6).expected_rounds()), (2, 17))
        self.assertEqual(plan(28, 3).expected_rounds(), 3)
        self.assertEqual(plan(1000).expected_rounds(), 1)

    def test_durations(self):
        self.assertEqual([bench.parse_duration(text) for text in ("90", "240s", "4m", "1.5h")],
                         [90, 240, 240, 5400])
        for text in ("", "x", "-1", "0", "4 m", "5d"):
            self.assertRaises(ValueError, bench.parse_duration, text)

    def test_results_never_overwrite_others(self):
        first, second = (bench.make_directory(None, self.place) for _ in range(2))
        self.assertNotEqual(first, second)
        (first / "rounds.jsonl").touch()
        with self.assertRaisesRegex(UsageProblem, "not an empty directory"):
            bench.make_directory(first, self.place)

    def test_a_named_peer_must_be_a_program(self):
        self.assertRaises(UsageProblem, bench.named_rows, {"libfev": self.place / "absent"})
        self.assertEqual(bench.named_rows({"libfev": Path("/bin/true")})[0].kind, "named")


class Orders(unittest.TestCase):
    def test_each_round_has_each_row_once_and_the_seed_repeats_it(self):
        rows = tuple(Row(str(number), "x") for number in range(9))
        plan = Plan(rows, Load(2, 1, 1), 1, 5, 1.0)
        first, again = rounds._orders(plan), rounds._orders(plan)
        orders = [next(first)[1] for _ in range(3)]
        self.assertEqual(orders, [next(again)[1] for _ in range(3)])
        for order in orders:
            self.assertEqual(sorted(order, key=lambda row: row.name), list(rows))
        self.assertNotEqual(orders[0], orders[1])


@unittest.skipUnless(shutil.which("wrk"), "needs wrk")
class Comparing(Scratch):
    def compare(self, rows, count=1):
        plan = Plan(tuple(rows), Load(4, 2, 1), 2, 7, 60.0, count)
        with support.captured() as (out, err):
            code = bench.compare(plan, FACTS, self.place)
        text = (self.place / "rounds.jsonl").read_text(encoding="utf-8")
        records = [json.loads(line) for line in text.splitlines()]
        return code, out.getvalue(), err.getvalue(), {record["row"]: record for record in records}

    def test_good_wrong_and_dead_servers_each_get_their_row(self):
        good = self.server("good")
        dies = "import threading; threading.Timer(0.5, lambda: os._exit(9)).start()"
        code, out, err, records = self.compare([
            Row(bench.REFERENCE, good), Row(bench.REFERENCE_AGAIN, good),
            Row("wrong", self.server("wrong", b"HTTP/1.1 200 OK\nContent-Length: 2\n\nno")),
            Row("exits", self.server("exits", prologue="sys.exit(4)")),
            Row("dies", self.server("dies", prologue=dies))])
        self.assertEqual(code, 3)
        self.assertEqual({name for name, record in records.items() if not record["ok"]},
                         {"wrong", "exits", "dies"})
        self.assertIn("wrong bytes", records["wrong"]["failure"])
        self.assertEqual(records["dies"]["failure"], "exit status 9 under load")
        self.assertIn("exits failed: exit status 4 before it answered", err)
        self.assertGreater(records[bench.REFERENCE]["server_cpu_us_per_request"], 0)
        self.assertRegex(out, r"raw-epoll +1\.000 \[1\.000, 1\.000\]")
        self.assertRegex(out, r"exits +- .*1 of 1 cells failed: exit status 4")
        self.assertIn("A/A' (the reference against itself): CPU/request", out)
        self.assertEqual(out.splitlines()[-1], "shared cores: not a scaling result")
        self.assertTrue((self.place / "report.html").is_file())
        facts = json.loads((self.place / "environment.json").read_text())
        self.assertEqual((facts["connections"], facts["workers"]), (4, 2))
        self.assertEqual(support.live_processes(str(self.place)), [])

    def test_a_run_in_which_nothing_works_ends_after_one_round(self):
        dead = self.server("dead", prologue="sys.exit(1)")
        code, out, err, _ = self.compare([Row(bench.REFERENCE, dead), Row("x", dead)], count=None)
        self.assertEqual(code, 3)
        self.assertIn("not one cell of the first round", err)
        self.assertIn("A/A': not measured", out)

    def test_answers_that_are_not_2xx_fail_the_cell(self):
        # Right while it is asked alone (before and after), 503 while wrk holds its connections.
        half = ("import threading; A = ANSWER\n"
                "class Flaky(Handler):\n    def handle(self):\n"
                "        bad = b'HTTP/1.1 503 No\\nContent-Length: 0\\n\\n'\n"
                "        while self.request.recv(4096):\n"
                "            self.request.sendall(bad if threading.active_count() > 3 else A)\n"
                "Handler = Flaky")
        plan = Plan((), Load(4, 1, 1), 1, 7, 60.0, 1)
        with Interrupt() as interrupt:
            row = Row("half", self.server("half", prologue=half))
            record = rounds.measure(row, plan, 0, interrupt)
        self.assertRegex(record["failure"], r"^\d+ answers were not 2xx$")
        self.assertFalse(record["ok"])

    def test_ctrl_c_keeps_what_was_measured_and_leaves_nothing_behind(self):
        results = self.place / "results"
        results.mkdir()
        process = subprocess.Popen(
            [sys.executable, "-c", INTERRUPTED_BENCH, str(support.ROOT), self.server("good"),
             str(results)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline_s = time.monotonic() + 30
        journal = results / "rounds.jsonl"
        while time.monotonic() < deadline_s and not (journal.exists() and journal.stat().st_size):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("interrupted after 1 cells", err)
        self.assertIn("requests/s ratio", out)
        self.assertEqual(len(journal.read_text().splitlines()), 1)
        self.assertTrue((results / "report.html").is_file())
        self.assertEqual(support.live_processes(str(self.place)), [])

    def test_every_record_is_on_the_disk_with_its_units(self):
        journal = Journal(self.place)
        journal.append({"row": "a"})
        self.assertEqual((self.place / "rounds.jsonl").read_text(), '{"row": "a"}\n')
        journal.close()


if __name__ == "__main__":
    unittest.main()
