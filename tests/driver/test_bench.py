"""Runs of the lab end to end, against tiny servers and over real TCP."""
import json
import shutil
import signal
import subprocess
import sys
import time
import unittest

import support
from driver.lab import journal, measure, status
from driver.lab.campaign import Noise
from driver.lab.measure import Turn
from lab_support import GROUP, REFERENCE, Scratch, cell, plan, references

# Right while it is asked alone (before and after), 503 while a load holds its connections.
HALF_503 = ("import threading; A = ANSWER\n"
            "class Flaky(Handler):\n    def handle(self):\n"
            "        bad = b'HTTP/1.1 503 No\\nContent-Length: 0\\n\\n'\n"
            "        while self.request.recv(4096):\n"
            "            self.request.sendall(bad if threading.active_count() > 3 else A)\n"
            "Handler = Flaky")
DIES = "import threading; threading.Timer(0.6, lambda: os._exit(9)).start()"
RUN = """
import resource, sys
sys.path.insert(0, sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
from pathlib import Path
from types import SimpleNamespace
from driver.lab import bench, plan
directory = Path(sys.argv[2])
sys.exit(bench.measure(directory, plan.read(directory), SimpleNamespace(path=directory.parent),
                       {"cores_usable": 2, "build_hash": "b"}, False))
"""


class Comparing(Scratch):
    def test_good_wrong_and_dead_servers_each_get_their_row(self):
        good = self.server("good")
        code, out, err = self.run_plan(plan([
            *references(good),
            cell("wrong", self.server("wrong", b"HTTP/1.1 200 OK\nContent-Length: 2\n\nno")),
            cell("exits", self.server("exits", prologue="sys.exit(4)")),
            cell("dies", self.server("dies", prologue=DIES), parameters={"duration_s": 2})]))
        self.assertEqual(code, 3)
        records = {record["row"]: record for record in self.records()}
        self.assertEqual({name for name, record in records.items() if not record["ok"]},
                         {"wrong", "exits", "dies"})
        self.assertIn("wrong bytes", records["wrong"]["failure"])
        self.assertEqual(records["dies"]["failure"], "exit status 9 under load")
        self.assertIn("exits failed: exit status 4 before it answered", err)
        self.assertIn("3 of 5 cells failed; rounds.jsonl has the reasons", out)
        server = records[REFERENCE]["server"]
        self.assertGreater(server["cpu_us_per_request"], 0)
        self.assertGreater(server["peak_memory_bytes"], 2**20)
        self.assertGreater(server["voluntary_switches"] + server["involuntary_switches"], 0)
        self.assertEqual(records[REFERENCE]["checks"]["bytes"], "pass")
        self.assertEqual(support.live_processes(str(self.place)), [])

    def test_a_failed_cell_is_tried_once_more_and_both_are_kept(self):
        once = self.server("once", prologue=(
            "import pathlib; flag = pathlib.Path(__file__ + '.flag')\n"
            "if not flag.exists(): flag.touch(); sys.exit('not yet')"))
        good = self.server("good")
        code, _, err = self.run_plan(plan([*references(good), cell("once", once)]))
        self.assertEqual(code, 0)
        attempts = [record for record in self.records() if record["row"] == "once"]
        self.assertEqual([(record["attempt"], record["ok"]) for record in attempts],
                         [(1, False), (2, True)])
        self.assertEqual(attempts[0]["position"], attempts[1]["position"])
        self.assertIn("not yet; trying once more", err)

    def test_half_of_the_answers_503_fails_the_cell(self):
        good = self.server("good")
        many = {"connections": 8}
        code, out, _ = self.run_plan(plan([
            *references(good), cell("half", self.server("half", prologue=HALF_503),
                                    parameters=many)]))
        self.assertEqual(code, 3)
        half = [record for record in self.records() if record["row"] == "half"]
        self.assertEqual([record["attempt"] for record in half], [1, 2])
        for record in half:
            self.assertRegex(record["failure"], r"^\d+ answers were not 2xx$")
            self.assertEqual((record["ok"], record["verdict"]), (False, "failed"))
            self.assertGreater(record["errors"]["status"], 0)
        self.assertIn("1 of 3 cells failed", out)

    def test_a_run_in_which_nothing_works_ends_after_one_round(self):
        dead = self.server("dead", prologue="sys.exit(1)")
        code, _, err = self.run_plan(plan([*references(dead), cell("x", dead)], rounds=5))
        self.assertEqual(code, 3)
        self.assertIn("not one cell of the first round", err)
        self.assertEqual({record["round"] for record in self.records()}, {1})

    def test_every_round_has_each_cell_once_and_histograms_are_files(self):
        good = self.server("good")
        made = plan([*references(good), cell("one", good)], rounds=2, warmup_rounds=1)
        self.assertEqual(self.run_plan(made)[0], 0)
        records = self.records()
        self.assertEqual(sorted((record["round"], record["cell"]) for record in records),
                         sorted((number, one.cell) for number in (1, 2, 3) for one in made.cells))
        self.assertEqual([record["warmup"] for record in records], [True] * 3 + [False] * 6)
        self.assertEqual([record["position"] for record in records], [1, 2, 3] * 3)
        for record in records:
            histogram = json.loads((self.results / record["histogram"]).read_text())
            self.assertEqual(histogram["buckets"][0][2], record["requests"])

    def test_noisy_rounds_are_repeated_at_the_end_so_often_and_both_are_kept(self):
        good = self.server("good")
        # Nothing is that quiet: the bound ends it.
        strict = Noise(0.0, 0.0, most_repeats=1, most_noisy_percent=0.0)
        busy = plan([*references(good)], rounds=2, noise=strict)
        with Busy():
            code, _, err = self.run_plan(busy)
        self.assertEqual(code, 4, err)
        self.assertIn("quality gate", err)
        found = [(record["round"], record["repeats"]) for record in self.records()]
        self.assertEqual(found[:4], [(1, None), (1, None), (2, None), (2, None)])
        self.assertEqual(len(found), 6)
        self.assertEqual(found[4], found[5])
        self.assertEqual(found[4][0], 3)
        self.assertIn(found[4][1], (1, 2))

    def test_unavailable_rows_are_told_at_the_end(self):
        made = plan(references(self.server("good")), unavailable=(
            {"row": "go", "group": GROUP, "kind": "peer", "workload": "hello",
             "reason": "needs golang-go"},))
        self.assertIn("unavailable: go: needs golang-go", self.run_plan(made)[1])


class Busy:
    """Somebody else's work while a test runs."""

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-c", "while True: pass"])

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Stopping(Scratch):
    def begin(self, made, most_bytes=-1):
        """The run as a process; `most_bytes` a file bounds it as a disk would."""
        self.start(made)
        return subprocess.Popen([sys.executable, "-c", RUN, str(support.ROOT), str(self.results),
                                 str(most_bytes)],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def wait_for_lines(self, count):
        path = self.results / "rounds.jsonl"
        deadline_s = time.monotonic() + 30
        while time.monotonic() < deadline_s:
            if path.exists() and path.read_bytes().count(b"\n") >= count:
                return
            time.sleep(0.01)
        self.fail("no records came")

    def test_ctrl_c_keeps_what_was_measured_and_leaves_nothing_behind(self):
        made = plan(references(self.server("good")), rounds=50)
        process = self.begin(made)
        self.wait_for_lines(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130, err)
        count = len(self.records())
        self.assertLess(count, 100)
        self.assertIn(f"interrupted after {count} measurements; ./heddle resume {self.results}",
                      err)
        self.assertIn(REFERENCE, out)
        self.assertIn(f"data: {self.results}", out)
        self.assertEqual(support.live_processes(str(self.place)), [])

    def test_after_kill_9_the_same_plan_goes_on_without_duplicate_or_gap(self):
        good = self.server("good")
        made = plan([*references(good), cell("one", good)], rounds=3)
        process = self.begin(made)
        self.wait_for_lines(4)
        process.kill()
        process.wait()
        process.stdout.close()  # what the killed one started may hold the other end
        process.stderr.close()
        with open(self.results / "rounds.jsonl", "a", encoding="utf-8") as file:
            file.write('{"schema": "heddle-round-2", "torn')
        deadline_s = time.monotonic() + 30
        while journal.is_measured_into(self.results) and time.monotonic() < deadline_s:
            time.sleep(0.01)  # a child of it may hold the lock until it runs its own program
        before = (self.results / "rounds.jsonl").read_bytes().rpartition(b"\n")[0]
        self.assertIn("./heddle resume", "\n".join(status.lines_of(self.results)))
        code, _, err = self.run_plan(made)
        self.assertEqual(code, 0, err)
        self.assertIn("of a torn last line", err)
        after = (self.results / "rounds.jsonl").read_bytes()
        self.assertTrue(after.startswith(before))
        records = self.records()
        self.assertEqual(sorted((one["round"], one["cell"]) for one in records),
                         sorted((number, one.cell) for number in (1, 2, 3) for one in made.cells))
        orders = {number: [one["position"] for one in records if one["round"] == number]
                  for number in (1, 2, 3)}
        self.assertEqual(set(map(tuple, orders.values())), {(1, 2, 3)})
        self.assertIn("complete", status.lines_of(self.results))
        self.assertEqual(self.run_plan(made)[0], 0)
        self.assertEqual((self.results / "rounds.jsonl").read_bytes(), after)
        self.assertEqual(support.live_processes(str(self.place)), [])

    def test_a_full_disk_stops_the_run_and_keeps_the_data(self):
        made = plan(references(self.server("good")), rounds=2)
        process = self.begin(made, most_bytes=2500)  # a record and a piece of the next
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("the disk is full; what was measured is kept", err)
        self.assertEqual(support.live_processes(str(self.place)), [])
        kept = (self.results / "rounds.jsonl").read_bytes()
        self.assertEqual((kept.count(b"\n"), len(kept)), (1, 2500))
        code, _, err = self.run_plan(made)
        self.assertEqual((code, len(self.records())), (0, 4), err)

    def test_two_runners_do_not_share_a_directory(self):
        made = plan(references(self.server("good")), rounds=50)
        process = self.begin(made)
        self.wait_for_lines(1)
        try:
            self.assertRegex("\n".join(status.lines_of(self.results)), "running; ends about")
            with self.assertRaisesRegex(Exception, "being measured into by another process"):
                self.run_plan(made)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)


@unittest.skipUnless(shutil.which("wrk"), "needs wrk")
class WithWrk(Scratch):
    def test_a_cell_measured_by_wrk_has_no_percentiles(self):
        made = plan([cell("one", self.server("good"), driver="wrk",
                          parameters={"duration_s": 1})])
        with self.laboratory(made) as lab:
            record, histogram = measure.measure(made.cells[0], lab, Turn(1, 1))
        self.assertTrue(record["ok"], record["failure"])
        self.assertGreater(record["requests"], 0)
        self.assertEqual((record["latency_ns"], histogram), (None, None))

    def test_answers_that_are_not_2xx_fail_the_cell(self):
        made = plan([cell("half", self.server("half", prologue=HALF_503), driver="wrk",
                          parameters={"duration_s": 1, "connections": 4})])
        with self.laboratory(made) as lab:
            record, _ = measure.measure(made.cells[0], lab, Turn(1, 1))
        self.assertRegex(record["failure"], r"^\d+ answers were not 2xx$")


if __name__ == "__main__":
    unittest.main()
