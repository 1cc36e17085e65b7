#!/usr/bin/env python3
"""Processor time per request of loadgen and of wrk, over the same server in interleaved rounds.

usage: versus_wrk.py LOADGEN HELLO-RAW-EPOLL [ROUNDS] [SECONDS]

Prints one JSON object: microseconds per request of both by round (user and system of the whole
process, as the system accounts it) and the ratio loadgen / wrk by round with its median.
"""
import json
import os
import random
import re
import statistics
import subprocess
import sys

THREADS, CONNECTIONS = 2, 128


def measured(command: list[str]) -> tuple[float, str]:
    """Processor seconds of the command, and what it printed."""
    before = os.times()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=True)
    after = os.times()
    spent_s = (after.children_user + after.children_system
               - before.children_user - before.children_system)
    return spent_s, done.stdout


def loadgen_us(program: str, port: str, seconds: int) -> float:
    spent_s, text = measured([program, "--port", port, f"--threads={THREADS}",
                              f"--connections={CONNECTIONS}", f"--duration-s={seconds}"])
    return spent_s / json.loads(text)["responses"] * 1e6


def wrk_us(port: str, seconds: int) -> float:
    spent_s, text = measured(["wrk", f"-t{THREADS}", f"-c{CONNECTIONS}", f"-d{seconds}s",
                              f"http://127.0.0.1:{port}/"])
    return spent_s / int(re.search(r"(\d+) requests in", text)[1]) * 1e6


def main(program: str, server_program: str, rounds: int = 9, seconds: int = 2) -> None:
    server = subprocess.Popen([server_program, "127.0.0.1", "0", "2"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True)
    try:
        port = re.search(r":(\d+)", server.stdout.readline())[1]
        found: dict[str, list[float]] = {"loadgen_us": [], "wrk_us": []}
        tools = [("loadgen_us", lambda: loadgen_us(program, port, seconds)),
                 ("wrk_us", lambda: wrk_us(port, seconds))]
        for _ in range(rounds):
            for name, run in random.sample(tools, len(tools)):
                found[name].append(round(run(), 3))
    finally:
        server.terminate()
        server.wait()
    ratios = [round(ours / theirs, 3)
              for ours, theirs in zip(found["loadgen_us"], found["wrk_us"])]
    print(json.dumps({**found, "ratios": ratios, "median_ratio": statistics.median(ratios)}))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: versus_wrk.py LOADGEN HELLO-RAW-EPOLL [ROUNDS] [SECONDS]")
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:5]))
