#!/usr/bin/env python3
"""Servers whose io_uring has a thread of the kernel: how many, what it costs, when it sleeps.

usage: sqpoll_test.py HEDDLE_SERVER COMBINATION...    prints TAP; combinations with io_uring
"""
import functools
import os
import sys

sys.dont_write_bytecode = True  # the source tree stays as it is

from support import HELLO, JSON, WAIT_S, assert_refused, eventually, receive, run_checks, serving

TICKS = 10  # what the kernel thread has to use before shares are compared


def stat_fields(path):
    """The fields of a stat file after the name, from the state on, and the name."""
    with open(path, encoding="ascii") as file:
        start, _, rest = file.read().rpartition(")")
    return rest.split(), start.partition("(")[2]


def ticks(fields):
    return int(fields[11]) + int(fields[12])


def threads(pid):
    """Of each thread, by number: its name, its state and the ticks that it has used."""
    found = {}
    for number in os.listdir(f"/proc/{pid}/task"):
        try:
            fields, name = stat_fields(f"/proc/{pid}/task/{number}/stat")
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended since
        found[number] = (name, fields[0], ticks(fields))
    return found


def kernel_threads(pid):
    return {number: row for number, row in threads(pid).items() if row[0].startswith("iou-sqp")}


def ask(client):
    client.sendall(JSON)
    assert (answer := receive(client, len(HELLO))) == HELLO, f"answered {answer!r}"


def have_one_thread(program, combination):
    with serving(program, "hello", combination) as server:
        assert not kernel_threads(server.process.pid), "a kernel thread that nobody asked for"
    with serving(program, "hello", combination, ["--sqpoll"]) as server, server.connect() as client:
        ask(client)
        # That of the ring by which the runtime found out what can be had ends a little later.
        eventually(lambda: len(kernel_threads(server.process.pid)) == 1, "a single kernel thread")
        tuning = server.counters()["tuning"]
        assert tuning["sqpoll_idle_ms"] == 1000, tuning


def count_its_time(program, combination):
    """The time of the kernel thread is in /proc/PID/stat, where that of a server is read."""
    words = ["--tuning", "sqpoll_idle_ms=60000"]
    with serving(program, "hello", combination, words) as server, server.connect() as client:
        ask(client)
        pid = server.process.pid
        # It looks for submissions all the while, though nothing comes.
        eventually(lambda: any(row[2] >= TICKS for row in kernel_threads(pid).values()),
                   f"{TICKS} ticks of the kernel thread", 6 * WAIT_S)
        own = max(row[2] for row in kernel_threads(pid).values())
        others = sum(row[2] for number, row in threads(pid).items()
                     if number not in kernel_threads(pid))
        whole = ticks(stat_fields(f"/proc/{pid}/stat")[0])
        assert others < own, f"the others are not idle: {others} ticks beside {own}"
        # Each thread's time is rounded down by itself.
        assert whole >= own - 2, f"{whole} ticks of the process, {own} of its kernel thread"


def wake_it(program, combination):
    """A submission that finds the thread asleep wakes it, or the answer would never come."""
    words = ["--tuning", "sqpoll_idle_ms=1"]
    with serving(program, "hello", combination, words) as server, server.connect() as client:
        for _ in range(20):
            ask(client)
            eventually(lambda: all(row[1] == "S" for row in
                                   kernel_threads(server.process.pid).values()), "its sleep")


def save_calls(program, combination):
    """A worker that has other fibers to run makes no call for what it submits."""
    words = ["fibers=1000", "--tuning", "sqpoll_idle_ms=60000"]
    with serving(program, "fanout", combination, words) as server, server.connect() as client:
        for _ in range(100):  # each answer is a submission; the receive stays armed
            ask(client)
        counts = server.counters()["counters"]
        # Each wait is one call and no other call is needed, but to wake the thread at the start.
        assert counts["syscalls_wait"] <= counts["parks"] + 5, counts
        assert counts["ring_submissions"] >= 100, counts


def refuse_epoll(program, combination):
    arguments = [program, "hello", "127.0.0.1", "0", "2", "--runtime", combination, "--sqpoll"]
    line = assert_refused(arguments, 2, [])
    assert line == f"heddle-server: --sqpoll needs a combination with io_uring, not {combination}", line


OF_EACH = [
    ("two workers share one kernel thread, and only with --sqpoll", have_one_thread),
    ("the kernel thread's time is counted as the process's", count_its_time),
    ("a request wakes the kernel thread from its sleep", wake_it),
    ("submissions need no system calls while the kernel thread is awake", save_calls),
]


def main(program, combinations):
    checks = [(f"{combination}: {sentence}", functools.partial(check, program, combination))
              for combination in combinations if combination.startswith("io_uring-")
              for sentence, check in OF_EACH]
    checks += [(f"{combination}: --sqpoll is refused in exactly one line, status 2",
                functools.partial(refuse_epoll, program, combination))
               for combination in combinations if combination.startswith("epoll-")]
    return run_checks(checks)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: sqpoll_test.py HEDDLE_SERVER COMBINATION...")
    sys.exit(main(sys.argv[1], sys.argv[2:]))
