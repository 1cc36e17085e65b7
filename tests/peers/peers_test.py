#!/usr/bin/env python3
"""Checks the peer servers from outside, over loopback.

usage: peers_test.py [--when-built] PROGRAM...   With --when-built, missing programs are skipped.

A program is named PROTOCOL-PEER and takes HOST PORT WORKERS [NAME=VALUE...]. Prints TAP: one
sentence a check and program. Checks of what a server answers share one server, in turn; the others
have servers of their own. Programs are checked at once; those that wait for a time limit on threads
of their own, so that the whole takes little longer than the limit. Every wait is bounded.
"""
import pathlib
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import close_checks
import echo_checks
import hello_checks
import http_checks
import life_checks
import manifests
import refusals
import timeout_checks
import workload_checks
from peer_server import Program, Skip, serving

MOST_AT_ONCE = 8


def outcome(check, argument):
    """What TAP says before and after the sentence, and why it failed."""
    try:
        check(argument)
    except Skip as reason:
        return "ok", f" # SKIP {reason}", None
    except Exception as error:  # a check's failure must not hide the others
        return "not ok", "", f"{type(error).__name__}: {error}"
    return "ok", "", None


class Plan:
    """Every check in the order of its report, and how to come by its outcome."""

    def __init__(self, pool):
        self.pool = pool
        self.entries = []  # (sentence, future)

    def skip(self, program, sentence, reason):
        future = Future()
        future.set_result(("ok", f" # SKIP {reason}", None))
        self.entries.append((f"{program.name} {sentence}", future))

    def in_pool(self, program, checks):
        for sentence, check in checks:
            self.entries.append((f"{program.name} {sentence}",
                                 self.pool.submit(outcome, check, program)))

    def on_threads(self, program, checks):
        for sentence, check in checks:
            future = Future()
            threading.Thread(target=lambda check=check, future=future:
                             future.set_result(outcome(check, program))).start()
            self.entries.append((f"{program.name} {sentence}", future))

    def on_one_server(self, program, checks):
        """Also that the server ends well after all of them."""
        futures = [Future() for _ in checks]
        end = Future()
        self.entries += [(f"{program.name} {sentence}", future)
                         for (sentence, _), future in zip(checks, futures)]
        self.entries.append((f"{program.name} ends well after all that", end))

        def run(program):
            with serving(program) as server:
                for (_, check), future in zip(checks, futures):
                    future.set_result(outcome(check, server))

        def work():
            end.set_result(outcome(run, program))
            for future in futures:
                if not future.done():
                    future.set_result(("not ok", "", "there was no server to check"))

        self.pool.submit(work)


def answers_of(program):
    """The checks of what a server answers."""
    if program.peer == "nginx" or program.protocol == "json":
        return http_checks.checks(program.peer, program.protocol)
    if program.protocol == "echo":
        return echo_checks.ON_SERVER
    if program.protocol == "http-close":
        return close_checks.ON_SERVER
    return hello_checks.ON_SERVER


def plan_checks(plan, programs):
    parsers = set()  # the command lines that are checked
    for program in programs:
        if program.protocol == "hello-timeout":
            plan.on_threads(program, timeout_checks.WITH_LIMIT)
        elif program.protocol == "hello" and program.peer != "nginx":
            plan.on_threads(program, timeout_checks.WITHOUT_LIMIT)
    for program in programs:
        with open(program.path, "rb") as file:
            is_binary = file.read(4) == b"\x7fELF"
        plan.on_one_server(program, answers_of(program))
        if program.protocol in workload_checks.ON_PROGRAM:
            plan.in_pool(program, workload_checks.ON_PROGRAM[program.protocol])
            continue
        plan.in_pool(program, life_checks.checks(program, is_binary))
        # One command line serves all scripts of a folder, and all protocols of a binary's peer.
        parser = program.peer if is_binary else pathlib.Path(program.path).parent.name
        if parser not in parsers:
            parsers.add(parser)
            plan.in_pool(program, refusals.ON_PROGRAM)


def main(paths):
    when_built = paths[:1] == ["--when-built"]
    paths = paths[when_built:]
    if not paths:
        sys.exit("usage: peers_test.py [--when-built] PROGRAM...")
    programs = [Program(path) for path in paths]
    with ThreadPoolExecutor(max_workers=MOST_AT_ONCE) as pool:
        plan = Plan(pool)
        built = [one for one in programs if not when_built or pathlib.Path(one.path).exists()]
        for program in programs:
            if program not in built:
                plan.skip(program, "is checked", "it is not built")
        plan_checks(plan, built)
        plan.entries.append(("manifests name every program, and no other",
                             pool.submit(outcome, manifests.agree, programs)))
        print(f"1..{len(plan.entries)}")
        failed = 0
        for number, (sentence, future) in enumerate(plan.entries, 1):
            verdict, directive, failure = future.result()
            print(f"{verdict} {number} - {sentence}{directive}", flush=True)
            if failure:
                failed += 1
                print("# " + failure.replace("\n", "\n# "), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
