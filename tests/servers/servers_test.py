#!/usr/bin/env python3
"""Checks the servers from outside, over loopback.
usage: servers_test.py HEDDLE-SERVER [--OPTION...] COMBINATION...

Prints TAP: one sentence a check and combination, then those that need no particular combination.
Every check has a server of its own on a port that the system chose. Every wait is bounded.
"""
import contextlib
import functools
import random
import re
import shutil
import socket
import struct
import sys
import threading

sys.dont_write_bytecode = True  # the source tree stays as it is

import json_checks
from support import (HELLO, JSON, WAIT_S, Answers, Server, Skip, assert_refused, receive, receive_to_end,
                     run, run_checks, serving)


def answer_hello(program, combination):
    with serving(program, "hello", combination) as server, server.connect() as client:
        for _ in range(100):
            client.sendall(JSON)
            assert (answer := receive(client, len(HELLO))) == HELLO, f"answered {answer!r}"
        client.sendall(JSON)
        client.shutdown(socket.SHUT_WR)
        assert (answer := receive_to_end(client)) == HELLO, f"answered {answer!r}"


def echo(program, combination):
    sent = random.Random(1).randbytes(1 << 16)
    with serving(program, "echo", combination) as server, server.connect() as client:
        client.sendall(sent[:100])
        assert receive(client, 100) == sent[:100], "the first bytes came back changed"

        def send():
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)  # bounded by the socket's timeout
        sender.start()
        received = receive_to_end(client)
        sender.join()
        assert received == sent, f"{len(received)} bytes came back, or changed ones"


def survive_resets(program, combination):
    for application in ("hello", "echo", "json"):
        with serving(program, application, combination) as server:
            for number in range(20):
                client = server.connect()
                client.sendall(JSON * (1 if number % 2 else 500))
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.close()
            with server.connect() as client:
                client.sendall(JSON)
                assert receive(client, 1)


def print_counters(program, combination):
    with serving(program, "json", combination) as server, server.connect() as client:
        client.sendall(JSON)
        json_checks.assert_json(Answers(client).next())
        for _ in range(2):
            printed = server.counters()
            assert printed["runtime"] == combination and printed["workers"] == 2, printed
            assert all(isinstance(count, int) for count in printed["counters"].values()), printed
            assert sum(printed["counters"].values()) > 0, printed
            assert printed["live_fibers"] >= 2, printed  # the acceptor and the connection


def stop_with_idle_connections(program, combination):
    for application in ("hello", "echo", "json"):
        with serving(program, application, combination) as server, contextlib.ExitStack() as stack:
            clients = [stack.enter_context(server.connect()) for _ in range(20)]
            for client in clients[:10]:
                client.sendall(JSON)
                receive(client, 1)
            for client in clients[10:15]:
                client.sendall(JSON[:20])
            server.stop()


def serve_ab(program, combination, options):
    if not shutil.which("ab"):
        raise Skip("needs ab")
    with serving(program, "json", combination) as server:
        result = run(["ab", "-q", "-n", "2000", "-c", "32", *options,
                      f"http://127.0.0.1:{server.port}/json"], 3 * WAIT_S)
        counts = dict(re.findall(r"^(.*?):\s+(\d+)", result.stdout, re.MULTILINE))
        assert result.returncode == 0, f"status {result.returncode}: {result.stderr}"
        assert counts["Complete requests"] == "2000", result.stdout
        assert counts["Failed requests"] == "0" and "Non-2xx" not in result.stdout, result.stdout
        if options:
            assert counts["Keep-Alive requests"] == "2000", result.stdout


def serve_wrk(program, combination, application):
    if not shutil.which("wrk"):
        raise Skip("needs wrk")
    with serving(program, application, combination) as server:
        result = run(["wrk", "-t2", "-c64", "-d1s", f"http://127.0.0.1:{server.port}/json"])
        assert result.returncode == 0, f"status {result.returncode}: {result.stderr}"
        assert int(re.search(r"(\d+) requests in", result.stdout)[1]) > 0, result.stdout
        assert "errors" not in result.stdout and "Non-2xx" not in result.stdout, result.stdout


def refuse_command_lines(program, combination):
    address = ["json", "127.0.0.1"]
    table = [
        ([], ["APPLICATION"]),
        (["jsom"], ["jsom", "hello", "hello-timeout", "echo", "json"]),
        (["json", "--runtime", combination[:-1]], [combination[:-1], "nearest: ", combination]),
        (["json", "--runtime", "xyzzy"], ["xyzzy"]),
        (["json", "--runtime", "auto-xyzzy"], ["auto-xyzzy"]),
        (["json", "300.0.0.1"], ["300.0.0.1"]),
        *([*address, port] for port in ("http", "65536", "-1", "80x", "", " 80", "1.5")),
        *([*address, "0", workers] for workers in ("0", "-2", "two", "1025", "9" * 20)),
        ([*address, "0", "2", "junk"], ["junk"]),
        (["json", "--junk"], ["--junk"]),
        *(["json", option] for option in ("--runtime", "--tuning", "--stats", "--capacity")),
        (["json", "--tuning", "yield"], ["yield"]),
    ]
    for row in table:
        arguments, words = row if isinstance(row, tuple) else (row, row[-1:])
        assert_refused([program, *arguments], 2, words)


def refuse_tuning(program, combination):
    help_text = run([program, "--help"]).stdout
    _, _, table = help_text.partition("Tuning values")
    names = re.findall(r"^  (\w+)=\d+  ", table, re.MULTILINE)
    assert names, f"--help names no tuning value: {help_text}"
    for name in names:
        for value in ("", "x", "-1", "1.5", "99999999999"):
            assert_refused([program, "json", "--tuning", f"{name}={value}"], 2,
                           [name, "a number from"])
    assert_refused([program, "json", "--tuning", f"{names[0][:-1]}=1"], 2, ["nearest: ", names[0]])


def refuse_used_port(program, combination):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        assert_refused([program, "json", "127.0.0.1", port, "1", "--runtime", combination], 1,
                       ["127.0.0.1:" + port, "in use"])


OF_EACH = [
    ("hello answers with exactly the reference's bytes, also a half-closed client", answer_hello),
    ("echo returns 64 KiB byte for byte, the end of the stream last", echo),
    ("clients that reset their connections do no harm", survive_resets),
    ("SIGUSR1 prints one line of counters", print_counters),
    ("SIGTERM ends each server in 2 s while connections are idle", stop_with_idle_connections),
]
OF_ONE = [
    ("json serves ab with new connections", lambda *server: serve_ab(*server, [])),
    ("json serves ab with kept connections", lambda *server: serve_ab(*server, ["-k"])),
    ("json serves wrk without errors", lambda *server: serve_wrk(*server, "json")),
    ("hello serves wrk without errors", lambda *server: serve_wrk(*server, "hello")),
    ("a wrong command line is refused in one line, status 2", refuse_command_lines),
    ("a wrong tuning is refused in one line, status 2", refuse_tuning),
    ("a port in use is refused in one line, status 1", refuse_used_port),
]


def main(program, combinations):
    checks = [(f"{combination}: {sentence}", functools.partial(check, program, combination))
              for combination in combinations
              for sentence, check in OF_EACH + json_checks.CHECKS]
    checks += [(sentence, functools.partial(check, program, combinations[0]))
               for sentence, check in OF_ONE]
    return run_checks(checks)


if __name__ == "__main__":
    Server.options = [word for word in sys.argv[2:] if word.startswith("--")]
    names = [word for word in sys.argv[2:] if not word.startswith("--")]
    if not names:
        sys.exit("usage: servers_test.py HEDDLE-SERVER [--OPTION...] COMBINATION...")
    sys.exit(main(sys.argv[1], names))
