#!/usr/bin/env python3
"""How many workers a server has when it is told, and when it is not.

usage: workers_test.py HEDDLE_SERVER COMBINATION    prints TAP
"""
import functools
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree stays as it is

from support import HELLO, JSON, Skip, assert_refused, receive, run_checks, serving


def workers_of(program, combination, workers, prefix=()):
    """What a server says that it has. It must also work."""
    with serving(program, "hello", combination, (), workers, prefix) as server:
        with server.connect() as client:
            client.sendall(JSON)
            assert receive(client, len(HELLO)) == HELLO
            assert server.counters()["workers"] == server.workers
        return server.workers


def allowed():
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        raise Skip("needs two processors")
    return processors


def taskset(program, combination):
    processors = allowed()
    assert workers_of(program, combination, None) <= len(processors)
    for some in (processors[:1], processors[:2]):
        prefix = ["taskset", "-c", ",".join(map(str, some))]
        found = workers_of(program, combination, None, prefix)
        assert found <= len(some), f"{found} workers on {len(some)} processors"
    assert workers_of(program, combination, None, ["taskset", "-c", str(processors[0])]) == 1


def in_group(folder, quota_us):
    """A prefix that runs a program where its control group has a quota of so many us in 100 ms."""
    os.makedirs(f"{folder}/cpu", exist_ok=True)
    for name, text in (("cpu.max", f"{quota_us} 100000"), ("cpu/cpu.cfs_quota_us", str(quota_us)),
                       ("cpu/cpu.cfs_period_us", "100000")):
        with open(f"{folder}/{name}", "w", encoding="ascii") as file:
            file.write(text + "\n")
    # Of what /sys/fs/cgroup holds only the group itself is seen, as in a container.
    prefix = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
              'mount --bind "$0" /sys/fs/cgroup && exec "$@"', folder]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode != 0:
        raise Skip("needs a mount namespace")
    return prefix


def quota(program, combination):
    allowed()
    with tempfile.TemporaryDirectory() as folder:
        for quota_us, expected in ((50000, 1), (100000, 1), (150000, 2)):
            prefix = in_group(folder, quota_us)
            found = workers_of(program, combination, None, prefix)
            assert found == expected, f"{found} workers with {quota_us} us of 100 ms"


def explicit(program, combination):
    processors = allowed()
    assert workers_of(program, combination, 5, ["taskset", "-c", str(processors[0])]) == 5
    with tempfile.TemporaryDirectory() as folder:
        assert workers_of(program, combination, 5, in_group(folder, 50000)) == 5


def refuse(program, combination):
    for count in ("0", "-1", "-2", "1025", "2.5", "two"):
        arguments = [program, "hello", "127.0.0.1", "0", count, "--runtime", combination]
        line = assert_refused(arguments, 2, [])
        assert line == ("heddle-server: workers "
                        f"'{count}' is not allowed; a number from 1 to 1024"), line


CHECKS = [
    ("by default a server has no more workers than taskset gives it processors", taskset),
    ("by default a server has as many workers as its control group's quota, rounded up", quota),
    ("a server has exactly as many workers as it is told, whatever the quota", explicit),
    ("no workers, fewer and too many are refused in exactly one line, status 2", refuse),
]

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: workers_test.py HEDDLE_SERVER COMBINATION")
    sys.exit(run_checks([(sentence, functools.partial(check, *sys.argv[1:]))
                         for sentence, check in CHECKS]))
