"""The command line: which commands there are; one-line problems; exit codes."""
from __future__ import annotations

import os
import sys

from driver.commands import building, campaigns, others
from driver.console import EXIT_INTERRUPTED, Problem, UsageProblem, say

USAGE = """usage: ./heddle COMMAND [OPTION]... [WORD]...

  setup            install the Debian packages that are missing, and nothing else
  build [FILTER]   configure and compile; with FILTER only matching servers and peers
  list [FILTER]    queues, schedulers, pollers, combinations, servers, peers, presets; --json
  test             run the tests; the last line is `N passed, N failed, N skipped`

  bench [CAMPAIGN.toml | --preset NAME] [FILTER]
                   measure; without a campaign hello servers and peers in under five minutes
  bench queues [FILTER]   compare the queues alone, in under five minutes
  plan …           what bench would measure, in which order, for how long
  count …          system calls, context switches and scheduler counters per request, untimed
  status DIR       how far a run is          resume DIR   go on where it stopped
  report DIR...    figures and tables: --html --pdf --svg --latex --csv --markdown
  compare A B      two runs; --fail-on 'regress>3%' for automation
  artifact DIR     archive for an artifact evaluation
  doctor           what of this machine is fit to measure on, and what to do
  selftest         the lab finds what is there and nothing else
  submit CAMPAIGN  on many machines: --engine local|ssh|slurm

FILTER: words that must all occur in a name. `./heddle COMMAND --help` lists its options.
exit: 0 ok, 1 failure or regression, 2 usage, 3 some cells failed, 4 quality gate,
      130 interrupted"""
COMMANDS = {
    "setup": building.command_setup, "build": building.command_build,
    "list": building.command_list, "test": building.command_test,
    "bench": campaigns.command_bench, "plan": campaigns.command_plan,
    "count": campaigns.command_count, "status": campaigns.command_status,
    "resume": campaigns.command_resume, **others.commands()}


def main(words: list[str]) -> int:
    """Run one command; every expected failure is one line on stderr."""
    try:
        if not words:
            raise UsageProblem(f"say what to do: {', '.join(COMMANDS)} (or --help)")
        if words[0] in ("-h", "--help", "help"):
            print(USAGE)
            return 0
        if words[0] not in COMMANDS:
            allowed = ", ".join(COMMANDS)
            raise UsageProblem(f"unknown command '{words[0]}'; allowed: {allowed}, --help")
        return COMMANDS[words[0]](words[1:])
    except Problem as problem:
        say(f"heddle: {problem}")
        return problem.exit_code
    except KeyboardInterrupt:
        say("heddle: interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has gone; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
