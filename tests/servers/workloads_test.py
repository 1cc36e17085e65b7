#!/usr/bin/env python3
"""Checks the workloads from outside, over loopback, and the parameters that they take.
usage: workloads_test.py HEDDLE-SERVER IDLE COMBINATION...    prints TAP

IDLE: how many idle sleepers a server must stand; ThreadSanitizer has a limit.
A limit on time is a lower one, or what any wait has: nothing here depends on speed.
"""
import functools
import json
import os
import shutil
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True  # the source tree stays as it is

from support import (HELLO, JSON, WAIT_S, Server, Skip, assert_refused, eventually, receive,
                     receive_to_end, run_checks, serving)


def ask(client, count=1):
    """Sends one request after the other; how long each took, in seconds."""
    times_s = []
    for _ in range(count):
        start_s = time.monotonic()
        client.sendall(JSON)
        assert (answer := receive(client, len(HELLO))) == HELLO, f"answered {answer!r}"
        times_s.append(time.monotonic() - start_s)
    return times_s


def assert_ends(client):
    """A half-closed connection ends, and nothing more came."""
    client.shutdown(1)
    assert (more := receive_to_end(client)) == b"", f"{more!r} after the last answer"


def at_once(connections, work):
    """Calls work(client) for each connection, in threads of their own."""
    failures = []

    def guarded(client):
        try:
            work(client)
        except Exception as error:  # reported below, in the thread of the check
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=[client]) for client in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, f"{len(failures)} of {len(threads)} connections: {failures[0]}"


def with_connections(server, count, work):
    """The same for so many new connections, each of which must end cleanly."""
    def ended(client):
        with client:
            work(client)
            assert_ends(client)

    at_once([server.connect() for _ in range(count)], ended)


def counters_after(program, combination, application, words):
    """What is counted after 4 connections with 25 requests each have ended."""
    with serving(program, application, combination, words) as server:
        with_connections(server, 4, lambda client: ask(client, 25))
        eventually(lambda: server.counters()["counters"]["fibers_finished"] >= 4, "the ends of fibers")
        return server.counters()


def spawn_and_join(program, combination):
    for fibers in (1, 8, 300):
        words = [f"fibers={fibers}", "work_ns=1000"]
        found = counters_after(program, combination, "fanout", words)
        assert found["parameters"] == {"fibers": fibers, "work_ns": 1000}, found
        expected = 1 + 4 + 100 * fibers  # the acceptor, the connections, the parts
        assert (spawned := found["counters"]["fibers_spawned"]) == expected, \
            f"{spawned} fibers instead of {expected}"


def spin_in_parts(program, combination):
    words = ["fibers=4", f"work_ns={5_000_000}"]
    with serving(program, "fanout", combination, words) as server, server.connect() as client:
        times_s = ask(client, 5)
        # Four parts of 5 ms on two workers.
        assert min(times_s) >= 0.010, f"answered after {min(times_s) * 1000:.1f} ms"


def pass_stages(program, combination):
    for hops in (1, 4, 64):
        found = counters_after(program, combination, "pipeline", [f"hops={hops}"])
        counts = found["counters"]
        expected = 1 + 4 + 2 * hops  # two workers, so two lanes
        assert counts["fibers_spawned"] == expected, f"{counts['fibers_spawned']} not {expected}"
        assert found["live_fibers"] == 1 + 2 * hops, f"{found['live_fibers']} fibers alive"
        with serving(program, "pipeline", combination, [f"hops={hops}"]) as server:
            with_connections(server, 1, lambda client: ask(client, 25))
            # A lane with one request never gives a stage two at once.
            runs = server.counters()["counters"]["fibers_run"]
            assert runs >= 25 * hops, f"25 requests ran only {runs} fibers"


def draws(seed, count):
    """The server's pseudo-random numbers below 100 for a connection."""
    state = (seed + 1) * 0x9E3779B97F4A7C15 % 2**64
    for _ in range(count):
        state ^= state << 13 & (2**64 - 1)
        state ^= state >> 7
        state ^= state << 17 & (2**64 - 1)
        yield state % 100


def spin_unequally(program, combination):
    words = ["short_us=0", "long_us=20000", "long_percent=30"]
    with serving(program, "imbalance", combination, words) as server, server.connect() as client:
        are_long = [draw < 30 for draw in draws(0, 40)]
        for number, (is_long, took_s) in enumerate(zip(are_long, ask(client, 40))):
            assert not is_long or took_s >= 0.020, f"request {number}: {took_s * 1000:.1f} ms"
    # None is long here: 100 of them would take longer than any check may.
    counters_after(program, combination, "imbalance",
                   ["short_us=1", "long_us=10000000", "long_percent=0"])
    with serving(program, "imbalance", combination,
                 ["short_us=0", "long_us=5000", "long_percent=100"]) as server:
        with server.connect() as client:
            assert (least_s := min(ask(client, 10))) >= 0.005, f"{least_s * 1000:.1f} ms"


def take_turns(program, combination):
    for mode in ("mutex", "condition"):
        counters_after(program, combination, "contended", [f"mode={mode}"])
        with serving(program, "contended", combination,
                     [f"mode={mode}", f"hold_ns={5_000_000}"]) as server:
            start_s = time.monotonic()
            with_connections(server, 4, lambda client: ask(client, 5))
            took_s = time.monotonic() - start_s
            # Side by side on two workers, half of it would do.
            assert took_s >= 20 * 0.005, f"{mode}: 20 turns of 5 ms took {took_s * 1000:.1f} ms"


def sleep(program, combination, idle):
    with serving(program, "sleepers", combination, ["sleep_us=20000", f"idle={idle}"]) as server:
        with server.connect() as client:
            assert (least_s := min(ask(client, 5))) >= 0.020, f"answered in {least_s * 1000:.1f} ms"
            found = server.counters()
            assert found["live_fibers"] == idle + 2, f"{found['live_fibers']} fibers alive"
            fires = found["counters"]["timer_fires"]
            eventually(lambda: server.counters()["counters"]["timer_fires"] >= fires + 2 * idle,
                       "the second wake-up of each idle sleeper")
            ask(client)
    counters_after(program, combination, "sleepers", ["sleep_us=0", "idle=0"])


def answer_before_end(program, combination, application, words, is_under_way):
    """A request that is under way when SIGTERM comes is answered."""
    with serving(program, application, combination, words) as server, server.connect() as client:
        client.sendall(JSON)
        eventually(lambda: is_under_way(server.counters()), "the request")
        server.stop()
        assert (answer := receive_to_end(client)) == HELLO, f"answered {answer!r}"


def drain(program, combination, idle):
    answer_before_end(program, combination, "sleepers", ["sleep_us=10000000", f"idle={idle}"],
                      lambda found: found["live_fibers"] == idle + 2
                      and found["armed_timers"] == idle + 1)
    answer_before_end(program, combination, "fanout", ["fibers=4", "work_ns=100000000"],
                      lambda found: found["live_fibers"] > 2)


def stop_under_load(program, combination):
    """Every connection has got whole answers to all requests but, at most, the last."""
    for application, words in (("pipeline", ["hops=8"]), ("fanout", []), ("contended", []),
                               ("contended", ["mode=condition"]), ("imbalance", [])):
        with serving(program, application, combination, words) as server:
            clients = [server.connect() for _ in range(8)]
            answered = [0]

            def load(client):
                with client:
                    received = b""
                    try:
                        while True:
                            client.sendall(JSON)
                            while part := client.recv(len(HELLO) - len(received)):
                                received += part
                                if len(received) == len(HELLO):
                                    break
                            if not part:
                                break
                            assert received == HELLO, f"answered {received!r}"
                            received = b""
                            answered[0] += 1
                    except (ConnectionResetError, BrokenPipeError):
                        pass  # closed with the last request unread
                    assert received == b"", f"the last answer is only {received!r}"

            stopper = threading.Thread(target=lambda: (
                eventually(lambda: answered[0] >= 200, "200 answers"), server.stop()))
            stopper.start()
            at_once(clients, load)
            stopper.join()
            assert server.process.returncode == 0, f"status {server.process.returncode}"


def end_without_stacks(program, combination):
    """What cannot be done ends the server with the reason."""
    if shutil.which("prlimit") is None or subprocess.run(
            ["prlimit", f"--as={1 << 30}", program, "--list"], capture_output=True,
            check=False).returncode != 0:
        raise Skip("needs prlimit, and a build without sanitizer")
    words = ["fibers=10000", "--stack-bytes", "1048576"]  # 10 GB, of which 1 GB can be had
    server = Server(program, "fanout", combination, words, prefix=["prlimit", f"--as={1 << 30}"])
    try:
        with server.connect() as client:
            client.sendall(JSON)
            out, err = server.process.communicate(timeout=WAIT_S)
        assert (server.process.returncode, out) == (1, b""), f"{server.process.returncode} {out!r}"
        assert err.count(b"\n") == 1 and b"fiber" in err, f"printed {err!r}"
    finally:
        server.kill()


def be_listed(program, _combination):
    """zoo.json names what the program can serve, and how each is started."""
    build = os.path.dirname(os.path.dirname(os.path.abspath(program)))
    with open(os.path.join(build, "zoo.json"), encoding="utf-8") as file:
        entries = json.load(file)["servers"]
    _, _, names = assert_refused([program, "xyzzy"], 2, []).partition("there are: ")
    by_protocol = {entry["protocol"]: entry for entry in entries}
    assert list(by_protocol) == names.split(", "), f"{list(by_protocol)} are listed, not {names}"
    values = {"build": build, "host": "127.0.0.1", "port": 0, "workers": 1}
    for protocol, entry in by_protocol.items():
        if entry["binary"] != "servers/heddle-server":
            continue  # a program that this test does not need
        arguments = [word.format(**values) for word in entry["run"]]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
            try:
                line = process.stdout.readline()
            finally:
                process.terminate()
        assert line.endswith(f"with 1 workers, {protocol} {entry['combination']}\n"), f"{line!r}"


def refuse_parameters(program, combination):
    table = [
        ("fanout fibers=0", "fanout fibers '0' is not allowed; a number from 1 to 10000"),
        ("fanout fibers=10001", "fanout fibers '10001' is not allowed; a number from 1 to 10000"),
        ("fanout fibers=", "fanout fibers '' is not allowed; a number from 1 to 10000"),
        ("fanout fibers=8x", "fanout fibers '8x' is not allowed; a number from 1 to 10000"),
        ("fanout work_ns=-1", "fanout work_ns '-1' is not allowed; a number from 0 to 1000000000"),
        ("fanout fiber=8", "fanout parameter 'fiber' is unknown; nearest: fibers"),
        ("fanout xyzzyxyzzy=8",
         "fanout parameter 'xyzzyxyzzy' is unknown; there are: fibers, work_ns"),
        ("fanout fibers", "fanout parameter 'fibers' is not NAME=VALUE"),
        ("pipeline hops=0", "pipeline hops '0' is not allowed; a number from 1 to 64"),
        ("pipeline hops=65", "pipeline hops '65' is not allowed; a number from 1 to 64"),
        ("imbalance long_percent=101",
         "imbalance long_percent '101' is not allowed; a number from 0 to 100"),
        ("imbalance short_us=10000001",
         "imbalance short_us '10000001' is not allowed; a number from 0 to 10000000"),
        ("contended mode=spin", "contended mode 'spin' is not allowed; one of mutex, condition"),
        ("contended mode=0", "contended mode '0' is not allowed; one of mutex, condition"),
        ("sleepers idle=1000001",
         "sleepers idle '1000001' is not allowed; a number from 0 to 1000000"),
        ("hello fibers=8", "hello takes no parameters; 'fibers=8' is too much"),
    ]
    for words, message in table:
        application, parameter = words.split()
        arguments = [program, application, "127.0.0.1", "0", "2", parameter, "--runtime", combination]
        line = assert_refused(arguments, 2, [])
        assert line == f"heddle-server: {message}", f"{words}: {line!r}"


def main(program, idle, combinations):
    of_each = [
        ("fanout spawns as many fibers a request as it should", spawn_and_join),
        ("fanout's parts spin for their time", spin_in_parts),
        ("pipeline passes each request through every stage", pass_stages),
        ("imbalance spins long for the requests that the seed says", spin_unequally),
        ("contended lets one request at a time spin, with both modes", take_turns),
        ("sleepers answers after its sleep beside idle fibers", functools.partial(sleep, idle=idle)),
        ("SIGTERM lets requests under way be answered", functools.partial(drain, idle=idle)),
        ("SIGTERM under load leaves no answer cut", stop_under_load),
    ]
    checks = [(f"{combination}: {sentence}", functools.partial(check, program, combination))
              for combination in combinations for sentence, check in of_each]
    checks.append(("zoo.json lists what can be served and how to start it",
                   functools.partial(be_listed, program, combinations[0])))
    checks.append(("fanout ends with the reason, status 1, when it can have no more fibers",
                   functools.partial(end_without_stacks, program, combinations[0])))
    checks.append(("parameters that are not allowed are refused in exactly one line, status 2",
                   functools.partial(refuse_parameters, program, combinations[0])))
    return run_checks(checks)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit("usage: workloads_test.py HEDDLE-SERVER IDLE COMBINATION...")
    sys.exit(main(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
