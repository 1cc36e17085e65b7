#!/usr/bin/env python3
"""What loadgen measures with servers that work.

usage: measuring_test.py LOADGEN HEDDLE-SERVER RUNTIME [HELLO-RAW-EPOLL]
"""
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is

from support import (HELLO, LOADGEN, RAW_EPOLL, WAIT_S, Run, Scripted, answering, heddle, measure,
                     serving)


class Measuring(unittest.TestCase):
    def assert_little_holds(self, result):
        law = result["checks"]["little"]
        self.assertIn(law["verdict"], ("pass", "warn"), law)  # warn: the machine stood still at an end

    def test_the_number_of_connections_is_exact(self):
        for threads, connections in ((1, 1), (2, 3), (8, 15), (3, 64), (7, 7), (8, 8)):
            with self.subTest(threads=threads, connections=connections), \
                    Scripted(answering(lambda _: HELLO)) as server:
                result = measure(server.port, "--threads", threads, "--connections", connections,
                                 "--requests", 4 * connections)
                self.assertEqual(server.count(), connections)
                self.assertEqual(result["connections_established"], connections)
                self.assertEqual(result["checks"]["connections"]["verdict"], "pass")

    def test_the_number_of_requests_is_exact(self):
        with heddle("hello") as server:
            for count in (1, 7, 1001, 20000):
                for words in ((), ("--protocol", "http-close"),
                              ("--mode", "open", "--rate", "100000"),
                              ("--mode", "think", "--think-us", "100")):
                    if count == 20000 and words:
                        continue
                    with self.subTest(count=count, words=words):
                        result = measure(server.port, "--threads", 3, "--connections", 7,
                                         "--requests", count, *words)
                        self.assertEqual((result["requests"], result["responses"]), (count, count))
                        self.assertEqual(result["bytes_received"], count * len(HELLO))

    def test_closed_mode_over_hello(self):
        with heddle("hello") as server:
            result = measure(server.port, "--duration-s", 1, "--expect-bytes", 12)
            self.assert_little_holds(result)
            self.assertEqual(result["duration_s"], 1)
            self.assertEqual(result["throughput_rps"], result["responses_in_time"])
            self.assertEqual(result["bytes_received"], result["responses"] * len(HELLO))
            self.assertEqual((result["mode"], result["latency"]["from"]), ("closed", "send"))
            spent = result["generator_cpu"]
            self.assertTrue(0 < spent["user_s"] + spent["system_s"] <= 2.2, spent)

    @unittest.skipUnless(RAW_EPOLL, "needs hello-raw-epoll")
    def test_closed_mode_over_a_server_without_a_runtime(self):
        with serving(RAW_EPOLL, "127.0.0.1", "0", "2") as server:
            result = measure(server.port, "--duration-s", 1, "--connections", 128)
            self.assert_little_holds(result)
            self.assertEqual(result["bytes_received"], result["responses"] * len(HELLO))

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_a_request_costs_one_send_and_one_receive(self):
        options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # which needs ptrace itself
        with heddle("hello") as server:
            done = subprocess.run(
                ["strace", "-f", "-c", "-U", "name,calls", "-e", "trace=sendto,recvfrom", LOADGEN,
                 "--port", str(server.port), "--requests", "2000", "--connections", "8"],
                env=dict(os.environ, ASAN_OPTIONS=options), stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=WAIT_S, check=True)
        calls = dict(re.findall(r"^(sendto|recvfrom) +(\d+)$", done.stderr, re.MULTILINE))
        self.assertEqual(calls, {"sendto": "2000", "recvfrom": "2000"}, done.stderr)

    def test_a_request_is_as_long_as_it_looks(self):
        with heddle("hello") as server:
            result = measure(server.port, "--requests", 500)
            request = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n"
            self.assertEqual(result["bytes_sent"], 500 * len(request))

    def test_latency_is_the_servers_time(self):
        def slow(_):
            time.sleep(0.02)
            return HELLO
        with Scripted(answering(slow)) as server:
            result = measure(server.port, "--duration-s", 1, "--connections", 4)
            self.assert_little_holds(result)
            for name in ("min", "p50", "mean"):
                self.assertGreaterEqual(result["latency"][name], 20e6)
            self.assertLessEqual(result["responses_in_time"], 4 * 50)

    def test_think_mode_pauses_between_response_and_request(self):
        with heddle("hello") as server:
            result = measure(server.port, "--mode", "think", "--think-us", 20000, "--connections", 4,
                             "--duration-s", 1)
            self.assert_little_holds(result)
            self.assertLessEqual(result["requests"], 4 * (1 / 0.02 + 1))
            self.assertLess(result["latency"]["p50"], 20e6)  # the pause is no part of it
            self.assertEqual(result["latency"]["from"], "send")

    def test_open_mode_offers_what_the_schedule_says(self):
        with heddle("hello") as server:
            result = measure(server.port, "--mode", "open", "--rate", 400, "--arrivals", "constant",
                             "--duration-s", 1, "--threads", 3, "--connections", 8)
            self.assertEqual((result["requests"], result["responses"]), (400, 400))
            self.assertEqual((result["offered_rps"], result["rate_rps"]), (400, 400))
            self.assertEqual(result["latency"]["from"], "intended")
            self.assert_little_holds(result)
            counts = [measure(server.port, "--mode", "open", "--rate", 1000, "--duration-s", 0.5,
                              "--seed", seed)["requests"] for seed in (1, 1, 2, 3)]
            self.assertEqual(counts[0], counts[1])
            self.assertGreater(len(set(counts)), 1)
            for count in counts:
                self.assertLess(abs(count - 500), 5 * 500 ** 0.5)

    def test_requests_wait_at_the_generator_when_every_connection_is_busy(self):
        def slow(_):
            time.sleep(0.01)
            return HELLO
        with Scripted(answering(slow)) as server:
            run = Run("--port", server.port, "--mode", "open", "--rate", 400, "--arrivals",
                      "constant", "--threads", 1, "--connections", 2, "--duration-s", 1,
                      "--drain-s", 5).finish()
            # Two connections serve at most 200 a second, so the last of 400 waits a second or more.
            self.assertEqual(run.status, 0, run.error)
            self.assertEqual(run.result["responses"], 400)
            self.assertLessEqual(run.result["responses_in_time"], 200)
            self.assertGreater(run.result["latency"]["max"], 0.9e9)
            self.assertNotEqual(run.result["checks"]["send_lag"]["verdict"], "pass")
            run = Run("--port", server.port, "--mode", "open", "--rate", 400, "--arrivals",
                      "constant", "--threads", 1, "--connections", 2, "--duration-s", 1,
                      "--drain-s", 0).finish()
            self.assertEqual(run.status, 1)
            self.assertGreaterEqual(run.result["unanswered"], 200)
            self.assertEqual(run.result["errors"]["timeout"], run.result["unanswered"])
            self.assertEqual(run.result["requests"], 400)

    def test_a_generator_that_cannot_keep_up_is_flagged(self):
        with heddle("hello") as server:
            run = Run("--port", server.port, "--mode", "open", "--rate", 3e6, "--duration-s", 0.3,
                      "--drain-s", 0).finish()
            self.assertEqual(run.status, 1)
            self.assertNotEqual(run.result["checks"]["send_lag"]["verdict"], "pass")
            self.assertLess(run.result["throughput_rps"], run.result["offered_rps"])

    def test_http_close_opens_a_connection_for_each_request(self):
        for response, words in ((HELLO, ()),
                                (b"HTTP/1.0 200 OK\r\n\r\nto the end", ("--expect-bytes", 10)),
                                (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n"
                                 b"\r\nok", ("--expect-bytes", 2))):
            def once(connection, _, response=response):
                if connection.recv(65536).startswith(b"GET / HTTP/1.0\r\n"):
                    connection.sendall(response)
                if response is HELLO:
                    connection.recv(1)  # this one leaves the end to the client
            with self.subTest(response=response), Scripted(once) as server:
                result = measure(server.port, "--protocol", "http-close", "--requests", 200,
                                 "--connections", 5, *words)
                self.assertEqual(server.count(), 200)
                self.assertEqual(result["responses"], 200)
        with heddle("json") as server:
            result = measure(server.port, "--protocol", "http-close", "--path", "/json",
                             "--duration-s", 1)
            self.assert_little_holds(result)

    def test_pipelined_keeps_requests_outstanding(self):
        with heddle("json") as server:
            result = measure(server.port, "--protocol", "pipelined", "--pipeline", 16, "--path",
                             "/json", "--connections", 8, "--duration-s", 1)
            self.assert_little_holds(result)
            self.assertEqual(result["checks"]["little"]["expected"], 8 * 16)
            result = measure(server.port, "--protocol", "pipelined", "--pipeline", 7, "--path",
                             "/json", "--connections", 3, "--requests", 1000)
            self.assertEqual(result["responses"], 1000)

    def test_echo_gets_back_what_it_sends(self):
        with heddle("echo") as server:
            for payload_bytes in (1, 64, 512, 2018, 300_000):
                with self.subTest(payload_bytes=payload_bytes):
                    result = measure(server.port, "--protocol", "echo", "--payload-bytes",
                                     payload_bytes, "--requests", 300)
                    self.assertEqual(result["bytes_sent"], 300 * payload_bytes)
                    self.assertEqual(result["bytes_received"], 300 * payload_bytes)

    def test_responses_may_arrive_in_pieces(self):
        def dribble(connection, _):
            while connection.recv(65536):
                for at in range(len(HELLO)):
                    connection.sendall(HELLO[at:at + 1])
        with Scripted(dribble) as server:
            result = measure(server.port, "--requests", 100, "--connections", 3)
            self.assertEqual(result["bytes_received"], 100 * len(HELLO))

    def test_a_connection_that_the_server_ends_as_announced_is_replaced_without_an_error(self):
        last = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 12\r\n\r\nHello world!"

        def few(connection, _):
            for response in (HELLO, HELLO, last):
                connection.recv(65536)
                connection.sendall(response)
        with Scripted(few) as server:
            result = measure(server.port, "--requests", 300, "--connections", 4)
            self.assertEqual(result["responses"], 300)
            self.assertGreaterEqual(server.count(), 100)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
