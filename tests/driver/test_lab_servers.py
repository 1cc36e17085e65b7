"""A server under test: readiness, right answers, its processor time, its end."""
import os
import signal
import socket
import subprocess
import sys
import time
import unittest
from unittest import mock

import support
from driver.lab import affinity, answers, noise, server, session
from driver.lab.failures import CellFailure, Interrupt, Interrupted, RunStopped
from driver.lab.server import Server
from driver.lab.session import Usage
from lab_support import Scratch

HELLO = answers.check_for("hello")
JSON = (b'HTTP/1.1 200 OK\r\nServer: s\r\nDate: d\r\nContent-Type: application/json\r\n'
        b'Content-Length: 27\r\n\r\n{"message":"Hello, World!"}')
ECHOES = ("class Echo(Handler):\n    def handle(self):\n"
          "        while (data := self.request.recv(4096)): self.request.sendall(data{more})\n"
          "Handler = Echo")


class Servers(Scratch):
    def start(self, program, check=HELLO, **options):
        started = Server([program, "127.0.0.1", "{port}", "1"], check, **options)
        self.addCleanup(started.stop, 0.1)
        return started

    def ready(self, started, timeout_s=10.0):
        with Interrupt() as interrupt:
            started.wait_ready(interrupt, timeout_s)
        return started

    def test_a_slow_start_is_waited_for_and_a_clean_stop_is_clean(self):
        slow = Server([self.server("slow", prologue="time.sleep(0.3)"), "127.0.0.1", "{port}", "1"],
                      HELLO)
        self.ready(slow)
        slow.check_answer()
        self.assertEqual(answers.body_bytes(slow.first_answer), 12)
        stop = slow.stop()
        self.assertEqual((stop.stop_signal, stop.killed_processes, stop.note), ("SIGTERM", 0, ""))
        self.assertEqual(support.live_processes(str(self.place)), [])

    def test_one_that_ignores_sigterm_is_killed_and_noted(self):
        deaf = ("signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                "if os.fork() == 0: time.sleep(60)")
        stop = self.ready(self.start(self.server("deaf", prologue=deaf))).stop(grace_s=0.2)
        self.assertEqual((stop.stop_signal, stop.killed_processes), ("SIGKILL", 2))
        self.assertIn("SIGKILL", stop.note)
        self.assertEqual(support.live_processes(str(self.place)), [])

    def test_wrong_bytes_a_death_and_silence_are_told_apart(self):
        silent = "import socket; l = socket.create_server((sys.argv[1], int(sys.argv[2])))"
        for prologue, answer, timeout_s, why in (
                ("", b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 40, 30, "wrong bytes: b'HTTP/1.1 200 OK"),
                ("", support.GOOD_ANSWER + b"!", 30, "wrong bytes"),
                ("sys.exit('in use')", b"", 30, "exit status 1 before it answered: in use"),
                (silent + "; time.sleep(60)", b"", 0.6, "no answer within 0.6 s")):
            started = self.start(self.server("server", answer, prologue))
            with self.assertRaisesRegex(CellFailure, why):
                self.ready(started, timeout_s)

    def test_a_port_that_another_program_took_is_not_mistaken_for_the_server(self):
        other = subprocess.Popen([self.server("other"), "127.0.0.1", str(port := free()), "1"],
                                 stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (other.kill(), other.wait()))
        with mock.patch.object(server, "free_port", return_value=port):
            waiting = self.start(self.server("waiting", prologue="time.sleep(60)"))
            with self.assertRaisesRegex(CellFailure, f"port taken: another program .* {port}"):
                self.ready(waiting, 3.0)
            refused = self.start(self.server("refused", prologue=(
                "Server.allow_reuse_address = False")))
            with self.assertRaisesRegex(CellFailure, "before it answered: .*in use"):
                self.ready(refused, 30.0)

    def test_no_port_left_stops_the_run_with_a_clear_line(self):
        exhausted = OSError(server.errno.EADDRINUSE, "Address already in use")
        with mock.patch.object(socket.socket, "bind", side_effect=exhausted):
            with self.assertRaisesRegex(RunStopped, "no free port is left in net.ipv4"):
                server.free_port()

    def test_a_program_that_cannot_run_is_a_failure_not_a_crash(self):
        with self.assertRaisesRegex(CellFailure, "No such file"):
            Server([str(self.place / "absent")], HELLO)

    def test_a_header_of_its_own_is_right_for_a_peer_that_says_so(self):
        own = b"HTTP/1.1 200 OK\r\nServer: own\r\nContent-Length: 12\r\n\r\nHello world!"
        self.assertEqual(answers.check_for("http").fault(own), "")
        self.assertIn("wrong status", answers.check_for("http").fault(own.replace(b"200", b"503")))
        self.assertIn("wrong bytes", answers.check_for("hello").fault(own))

    def test_echoes_and_json_are_checked_to_the_byte(self):
        echo = answers.check_for("echo", payload_bytes=300)
        self.ready(self.start(self.server("echo", prologue=ECHOES.format(more="")), echo))
        wrong = self.start(self.server("wrong", prologue=ECHOES.format(more="[:-1] + b'?'")), echo)
        self.assertRaisesRegex(CellFailure, "wrong bytes", self.ready, wrong)
        json = answers.check_for("json", "/json")
        for answer, why in ((JSON, ""), (JSON.replace(b"200", b"503"), "wrong status"),
                            (JSON.replace(b"Date", b"Day"), "wrong header: no date"),
                            (JSON.replace(b"World", b"Wurld"), "instead of a JSON message"),
                            (JSON + b"!", "wrong length: Content-Length 27, but 28"),
                            (b"x" * 50, "is no HTTP answer")):
            self.assertRegex(json.fault(answer), f"^{why}$" if not why else why)
        close = answers.check_for("http-close")
        self.assertEqual(close.fault(JSON), "")
        self.assertIn("wrong length", close.fault(JSON[:-1]))

    def test_a_signal_is_seen_at_the_next_check(self):
        before = signal.getsignal(signal.SIGINT)  # ignored when a shell runs this in the background
        with Interrupt() as interrupt:
            interrupt.check()
            os.kill(os.getpid(), signal.SIGTERM)
            self.assertRaises(Interrupted, interrupt.check)
        self.assertIs(signal.getsignal(signal.SIGINT), before)


def free():
    return server.free_port()


class Watching(unittest.TestCase):
    def spawn(self, text):
        process = subprocess.Popen([sys.executable, "-c", text], start_new_session=True,
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(lambda: [os.kill(pid, signal.SIGKILL)
                                 for pid in session.members(process.pid)])
        return process

    def test_processor_time_includes_forked_workers_and_ended_threads(self):
        process = self.spawn(
            "import os, threading, time\n"
            "def work():\n    while time.thread_time() < 0.2: pass\n"
            "os.fork()\nthread = threading.Thread(target=work); print(flush=True)\n"
            "thread.start(); thread.join(); print(flush=True); time.sleep(60)")
        usage = Usage(process.pid)
        usage.begin()
        for _ in range(4):
            process.stdout.readline()
        used = usage.end()
        self.assertGreaterEqual(used["user_cpu_s"] + used["system_cpu_s"], 0.4)
        self.assertGreater(used["peak_memory_bytes"], 2**21)

    def test_switches_are_those_between_begin_and_end(self):
        process = self.spawn("import time; print(flush=True)\nwhile True: time.sleep(0.001)")
        process.stdout.readline()
        usage = Usage(process.pid)
        usage.begin()
        deadline_s = time.monotonic() + 20
        while time.monotonic() < deadline_s:
            used = usage.end()
            if used["voluntary_switches"] >= 20:
                break
            time.sleep(0.01)
        self.assertGreaterEqual(used["voluntary_switches"], 20)
        self.assertLess(used["voluntary_switches"], 10**5)

    def test_foreign_work_is_what_is_not_our_own(self):
        first = noise.Snapshot(0.0, 10.0, 1.0, 2.0)
        last = noise.Snapshot(2.0, 12.0, 1.5, 3.0)
        with mock.patch.object(os, "cpu_count", return_value=2):
            found = noise.between(first, last, own_s=1.5)
            self.assertEqual(found, {"steal_percent": 12.5, "foreign_cpu_percent": 12.5,
                                     "cpu_pressure_percent": 50.0})
            self.assertEqual(noise.between(first, last, 5.0)["foreign_cpu_percent"], 0.0)
        now = noise.Snapshot.now()
        self.assertGreater(now.busy_s, 0)

    def test_what_is_started_on_cores_stays_there_and_we_do_not(self):
        cores = os.sched_getaffinity(0)
        one = frozenset([min(cores)])
        with affinity.on(one):
            process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        self.addCleanup(lambda: (process.kill(), process.wait()))
        self.assertEqual(os.sched_getaffinity(process.pid), one)
        self.assertEqual(os.sched_getaffinity(0), cores)

    def test_a_split_gives_each_side_cores_of_its_own(self):
        with mock.patch.object(os, "sched_getaffinity", return_value={3, 5, 7, 9}):
            split = affinity.choose("split")
            self.assertEqual((split.server, split.generator), ({3, 5}, {7, 9}))
            self.assertEqual(affinity.choose("shared").server, {3, 5, 7, 9})
            self.assertIsNone(affinity.choose("none").server)
        with mock.patch.object(os, "sched_getaffinity", return_value={3}):
            self.assertRaisesRegex(Exception, "needs two cores", affinity.choose, "split")


if __name__ == "__main__":
    unittest.main()
