#!/usr/bin/env python3
"""What loadgen makes of servers that refuse, die, stall or answer wrongly: it ends on time, counts by
kind, prints what it has, and exits with status 1.

usage: failing_test.py LOADGEN HEDDLE-SERVER RUNTIME [HELLO-RAW-EPOLL]
"""
import signal
import socket
import sys
import time
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is

from support import HELLO, Run, Scripted, answering, heddle, reset, stall

LONG_S = 600  # a run that lasts as long as this was not ended by what should have ended it


class Failing(unittest.TestCase):
    def assert_failed(self, run, ended_by, *kinds):
        """It failed with errors of just these kinds, and said so in one line."""
        found = {kind for kind, count in run.result["errors"].items() if count}
        self.assertEqual((run.status, run.result["ended_by"], found), (1, ended_by, set(kinds)),
                         f"{run.error!r} {run.result['errors']}")
        self.assertEqual(run.result["complete"], ended_by == "planned")
        self.assertEqual(run.error.count("\n"), 1, run.error)
        for kind in kinds:
            self.assertIn(kind, run.error)
        return run.result

    def closed(self, server, *words):
        return Run("--port", server.port, "--connections", 4, *words).finish()

    def test_a_server_that_refuses(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # nobody listens
            port = taken.getsockname()[1]
            run = Run("--port", port, "--duration-s", LONG_S).finish()
            result = self.assert_failed(run, "not_connected", "connect")
            self.assertIn("Connection refused", run.error)
            self.assertEqual((result["responses"], result["duration_s"]), (0, 0))
            self.assertEqual(result["latency"], None)
            self.assertEqual(result["checks"]["connections"]["verdict"], "fail")
            for words in (("--duration-s", LONG_S), ("--requests", 10 ** 9),
                          ("--duration-s", LONG_S, "--mode", "open", "--rate", 1000)):
                run = Run("--port", port, "--protocol", "http-close", *words).finish()
                self.assert_failed(run, "server_gone", "connect")

    def test_a_server_that_does_not_take_every_connection(self):
        # A backlog of none: of many connections only the first ones ever open.
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
            run = Run("--port", listener.getsockname()[1], "--connections", 64, "--duration-s", 5,
                      "--timeout-s", 0.5).finish()
            result = self.assert_failed(run, "not_connected", "connect")
            self.assertLess(result["connections_established"], 64)

    def test_a_server_that_dies(self):
        for application, words in (("hello", ()), ("echo", ("--protocol", "echo")),
                                   ("json", ("--protocol", "http-close", "--path", "/json")),
                                   ("json", ("--protocol", "pipelined", "--pipeline", 4,
                                             "--path", "/json")),
                                   ("hello", ("--mode", "think", "--think-us", 1000)),
                                   ("hello", ("--mode", "open", "--rate", 1000))):
            with self.subTest(application=application, words=words), heddle(application) as server:
                run = Run("--port", server.port, "--connections", 16, "--duration-s", LONG_S, *words)
                run.wait_for_connections(8)
                time.sleep(0.3)  # into the run
                server.kill()
                run.finish()
                self.assertEqual((run.status, run.result["ended_by"]), (1, "server_gone"))
                self.assertGreater(run.result["errors"]["connect"], 0)
                self.assertGreater(run.result["responses"], 0)
                self.assertLess(run.result["duration_s"], LONG_S / 10)
                self.assertFalse(run.result["complete"])

    def test_ctrl_c_prints_what_there_is(self):
        for number, words in ((signal.SIGINT, ()), (signal.SIGTERM, ()),
                              (signal.SIGINT, ("--mode", "open", "--rate", "500"))):
            with self.subTest(signal=number, words=words), heddle("hello") as server:
                run = Run("--port", server.port, "--duration-s", LONG_S, *words)
                run.wait_for_connections(64)
                time.sleep(0.3)  # into the run
                run.process.send_signal(number)
                result = self.assert_failed(run.finish(), "signal")
                self.assertGreater(result["responses"], 0)
                self.assertGreater(result["throughput_rps"], 0)
                self.assertTrue(0 < result["duration_s"] < LONG_S)

    def test_ctrl_c_while_it_connects(self):
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
            run = Run("--port", listener.getsockname()[1], "--connections", 64, "--duration-s", 1,
                      "--timeout-s", LONG_S)
            run.wait_for_connections(8)
            run.process.send_signal(signal.SIGINT)
            self.assert_failed(run.finish(), "signal")

    def test_a_server_that_stalls(self):
        with Scripted(stall) as server:
            result = self.assert_failed(
                self.closed(server, "--duration-s", 0.5, "--drain-s", 0.2), "planned", "timeout")
            self.assertEqual((result["errors"]["timeout"], result["unanswered"]), (4, 4))
            self.assertGreaterEqual(result["latency"]["min"], 0.5e9)  # the age they reached
            self.assertEqual(result["checks"]["little"]["verdict"], "fail")
            self.assert_failed(self.closed(server, "--requests", 10 ** 6, "--timeout-s", 0.2),
                               "no_response", "timeout")
            self.assert_failed(self.closed(server, "--requests", 4, "--timeout-s", 0.2),
                               "planned", "timeout")
            result = self.assert_failed(
                self.closed(server, "--mode", "open", "--rate", 100, "--arrivals", "constant",
                            "--duration-s", 0.5, "--drain-s", 0), "planned", "timeout")
            self.assertEqual(result["errors"]["timeout"], 50)

    def test_a_server_that_answers_half_with_503(self):
        busy = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy"
        with Scripted(answering(lambda count: busy if count % 2 else HELLO)) as server:
            result = self.assert_failed(self.closed(server, "--requests", 400, "--threads", 1),
                                        "planned", "status")
            self.assertEqual(result["responses"], 400)
            # Each connection begins with a right answer, and ends with either.
            self.assertAlmostEqual(result["errors"]["status"], 200, delta=2)

    def test_a_server_that_answers_with_another_length(self):
        shorter = b"HTTP/1.1 200 OK\nContent-Length: 11\n\nHello world"
        with Scripted(answering(lambda count: shorter if count % 4 == 3 else HELLO)) as server:
            result = self.assert_failed(
                self.closed(server, "--requests", 400, "--threads", 1, "--expect-bytes", 12),
                "planned", "length")
            self.assertAlmostEqual(result["errors"]["length"], 100, delta=4)
            self.assert_failed(self.closed(server, "--requests", 400), "planned", "length")
        with Scripted(answering(lambda _: HELLO)) as server:
            result = self.assert_failed(
                self.closed(server, "--requests", 50, "--expect-bytes", 13), "planned", "length")
            self.assertEqual(result["errors"]["length"], 50)

    def test_a_server_that_sends_more_than_it_says(self):
        with Scripted(answering(lambda _: HELLO + b"!")) as server:
            result = self.assert_failed(self.closed(server, "--requests", 50), "planned", "length")
            self.assertEqual((result["responses"], result["errors"]["length"]), (50, 50))

    def test_a_server_that_closes_instead_of_answering(self):
        def close(connection, _):
            connection.recv(65536)
        for words in ((), ("--protocol", "http-close")):
            with Scripted(close) as server:
                result = self.assert_failed(self.closed(server, "--requests", 100, *words),
                                            "planned", "closed")
                self.assertEqual((result["responses"], result["errors"]["closed"]), (0, 100))

    def test_a_server_that_closes_within_a_response(self):
        def half(connection, number):
            connection.recv(65536)
            connection.sendall(HELLO if number % 2 else HELLO[:-3])
            if number % 2:
                connection.recv(65536)  # a right answer, then none
        with Scripted(half) as server:
            result = self.assert_failed(self.closed(server, "--requests", 60), "planned", "closed")
            self.assertGreater(result["responses"], 0)
            self.assertEqual(result["responses"] + result["errors"]["closed"], 60)

    def test_a_server_that_resets(self):
        def reset_at_once(connection, _):
            connection.recv(65536)
            reset(connection)
        with Scripted(reset_at_once) as server:
            result = self.assert_failed(self.closed(server, "--requests", 50), "planned", "read")
            self.assertEqual(result["errors"]["read"], 50)

    def test_a_server_that_does_not_speak_http(self):
        for response in (b"SSH-2.0-OpenSSH_9.2\r\n",
                         b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"):
            with self.subTest(response=response), Scripted(answering(lambda _: response)) as server:
                result = self.assert_failed(self.closed(server, "--requests", 50), "planned",
                                            "content")
                self.assertEqual(result["errors"]["content"], 50)

    def test_an_echo_that_changes_a_byte(self):
        def change(connection, _):
            left = 0
            while data := bytearray(connection.recv(65536)):
                left += len(data)
                if left == 100:  # the last byte of a message
                    data[-1] ^= 1
                    left = 0
                connection.sendall(data)
        with Scripted(change) as server:
            result = self.assert_failed(
                self.closed(server, "--protocol", "echo", "--payload-bytes", 100, "--requests", 40),
                "planned", "content")
            self.assertEqual((result["responses"], result["errors"]["content"]), (40, 40))

    def test_an_echo_that_answers_with_the_message_before(self):
        def late(connection, _):
            before = bytes(64)
            while data := connection.recv(64, socket.MSG_WAITALL):
                connection.sendall(before)
                before = data
        with Scripted(late) as server:
            result = self.assert_failed(
                self.closed(server, "--protocol", "echo", "--payload-bytes", 64, "--requests", 40),
                "planned", "content")
            self.assertEqual(result["errors"]["content"], 40)

    def test_an_echo_that_adds_a_byte(self):
        def add(connection, _):
            while data := connection.recv(64, socket.MSG_WAITALL):
                connection.sendall(data + b"x")
        with Scripted(add) as server:
            self.assert_failed(
                self.closed(server, "--protocol", "echo", "--payload-bytes", 64, "--requests", 40),
                "planned", "length")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
