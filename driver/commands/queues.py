"""bench queues: the queues alone."""
from __future__ import annotations

import random

from driver import packages, queue_bench
from driver.commands.parser import (Parser, add_build, add_filter, add_seed_and_out,
                                    build_directory, decimal, duration, groups, list_of, number)
from driver.queue_cells import Choice


def command_bench_queues(words: list[str]) -> int:
    parser = Parser("bench queues", "Compare the queues alone: fresh processes, each round paired "
                    "with a reference. FILTER: words of queues, and of workloads.")
    add_filter(parser)
    add_build(parser)
    usual = Choice()
    add = parser.add_argument
    add("--rounds", type=number(1, 10000), metavar="N", help="so many, whatever the budget")
    add("--budget", type=duration, default=240.0, metavar="TIME",
        help="as many rounds as fit (240s)")
    add_seed_and_out(parser)
    add("--workload", action="append", default=[], metavar="NAME", help="only this; repeatable")
    add("--threads", type=list_of(number(1, 256)), default=usual.threads, metavar="N,...",
        help="thread counts (1,2)")
    add("--think-ns", type=list_of(decimal(0, 1e6)), default=usual.think_ns, metavar="NS,...",
        help="time between two operations of a thread, such as 0,50,100,500 (0)")
    add("--steal-percent", type=list_of(decimal(0.1, 10)), default=usual.steal_percent,
        metavar="P,...", help="share that thieves take (0.1,1,10)")
    add("--duration-ms", type=number(1, 60000), metavar="N", help="of one run (as fits)")
    options = parser.parse(words)
    choice = Choice(tuple(options.words), tuple(options.workload), options.threads,
                    options.think_ns, options.steal_percent)
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    request = queue_bench.Request(choice, options.duration_ms, options.rounds, options.budget,
                                  seed, options.out.absolute() if options.out else None)
    packages.ensure(groups([]))
    build = build_directory("none", options.definitions)
    build.configure()
    return queue_bench.run(request, build, options.jobs)
