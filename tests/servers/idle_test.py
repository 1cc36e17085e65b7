#!/usr/bin/env python3
"""Servers without traffic use next to no processor, and answer at once when traffic comes.

usage: idle_test.py HEDDLE_SERVER COMBINATION...    prints TAP
"""
import os
import sys
import time

import support

IDLE_S = 5
MOST_CPU_SHARE = 0.01
MOST_ANSWER_S = 0.05


def cpu_seconds(pid):
    """User and system time of all threads so far, by the scheduler's own account, in seconds."""
    total_ns = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
            total_ns += int(file.read().split()[0])
    return total_ns / 1e9


def main(program, combinations):
    print(f"1..{2 * len(combinations)}", flush=True)
    servers = []
    number = 0
    failed = False

    def report(good, name, detail):
        nonlocal number, failed
        number += 1
        failed |= not good
        print(f"{'ok' if good else 'not ok'} {number} - {name}\n# {detail}", flush=True)

    try:
        for combination in combinations:
            server = support.Server(program, "hello", combination)
            servers.append(server)
            # One request, so that everything that traffic starts has been started.
            with server.connect() as peer:
                peer.sendall(support.JSON)
                peer.recv(1024)
        time.sleep(1)  # what ends some time after traffic has ended
        before_s = [cpu_seconds(server.process.pid) for server in servers]
        time.sleep(IDLE_S)
        for server, combination, start_s in zip(servers, combinations, before_s):
            share = (cpu_seconds(server.process.pid) - start_s) / IDLE_S
            report(share < MOST_CPU_SHARE, f"{combination} idles", f"{share:.4%} of a processor")
        for server, combination in zip(servers, combinations):
            start_s = time.monotonic()
            with server.connect() as peer:
                peer.sendall(support.JSON)
                peer.recv(1024)
            took_s = time.monotonic() - start_s
            report(took_s < MOST_ANSWER_S, f"{combination} answers the first request at once",
                   f"{took_s * 1000:.1f} ms")
        for server in servers:
            server.stop()
    finally:
        for server in servers:
            server.kill()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
