#!/usr/bin/env python3
"""What a server says when the system refuses it io_uring. Faults are injected with strace.

usage: refused_test.py HEDDLE_SERVER    prints TAP
"""
import os
import shutil
import signal
import subprocess
import sys

RING = "io_uring-work-stealing-bounded-spmc"  # every build has it on both pollers
WAIT_S = 20


def traced(program, fault, combination, *options):
    """The server under a fault: status, standard output and error. It is stopped once it listens."""
    process = subprocess.Popen(
        ["strace", "-f", "-qq", "-e", "trace=io_uring_setup", "-e", f"inject=io_uring_setup:{fault}",
         "-o", "/dev/null", program, "hello", "127.0.0.1", "0", "2", "--runtime", combination,
         *options],
        env=dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"),  # needs ptrace itself
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        if line:
            children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True,
                                      check=False).stdout.split()
            for child in children:
                subprocess.run(["kill", f"-{signal.SIGTERM.value}", child], check=False)
        out, err = process.communicate(timeout=WAIT_S)
        return process.returncode, line + out, err
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def by_name(program, fault, words, *options):
    status, out, err = traced(program, fault, RING, *options)
    assert status == 1, f"status {status}, printed {out!r} {err!r}"
    assert out == "" and len(err.splitlines()) == 1, f"printed {out!r} {err!r}"
    for word in words:
        assert word in err, f"{word!r} is not in {err!r}"


def automatic(program, fault):
    status, out, err = traced(program, fault, RING.replace("io_uring-", "auto-"))
    assert status == 0, f"status {status}, printed {out!r} {err!r}"
    assert RING.replace("io_uring-", "epoll-") in out, out
    assert len(err.splitlines()) == 1 and "epoll is used instead" in err, err


def automatic_without_thread(program):
    status, out, err = traced(program, "error=EPERM:when=1", RING.replace("io_uring-", "auto-"), "--sqpoll")
    assert status == 0, f"status {status}, printed {out!r} {err!r}"
    assert RING in out, out
    assert len(err.splitlines()) == 1 and "io_uring is used without a kernel thread" in err, err
    assert "sqpoll_idle_ms" in err, err


CHECKS = [
    ("io_uring by name fails with the reason on EPERM",
     lambda program: by_name(program, "error=EPERM", ["forbids io_uring"])),
    ("io_uring by name fails with the reason on ENOSYS",
     lambda program: by_name(program, "error=ENOSYS", ["has no io_uring"])),
    ("io_uring by name names the memory-lock limit on ENOMEM",
     lambda program: by_name(program, "error=ENOMEM", ["ulimit -l"])),
    # The first call only finds out what can be had; the third is the ring of the second worker.
    ("io_uring by name says which ring failed",
     lambda program: by_name(program, "error=ENOMEM:when=3", ["ring 2 of 2", "ulimit -l"])),
    ("auto falls back to epoll with one warning on EPERM",
     lambda program: automatic(program, "error=EPERM")),
    ("auto falls back to epoll with one warning on ENOSYS",
     lambda program: automatic(program, "error=ENOSYS")),
    ("io_uring by name fails with the reason when its kernel thread is forbidden",
     lambda program: by_name(program, "error=EPERM", ["sqpoll_idle_ms"], "--sqpoll")),
    ("auto does without the kernel thread, with one warning, when that is forbidden",
     automatic_without_thread),
    ("auto falls back to epoll when the second ring is refused",
     lambda program: automatic(program, "error=ENOMEM:when=3")),
]


def main(program):
    print(f"1..{len(CHECKS)}", flush=True)
    if shutil.which("strace") is None:
        for number, (name, _) in enumerate(CHECKS, 1):
            print(f"ok {number} - {name} # SKIP needs strace")
        return 0
    failed = False
    for number, (name, check) in enumerate(CHECKS, 1):
        try:
            check(program)
            print(f"ok {number} - {name}", flush=True)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failed = True
            print(f"not ok {number} - {name}\n# {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
