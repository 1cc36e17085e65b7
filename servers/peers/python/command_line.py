"""`PROGRAM HOST PORT WORKERS [NAME=VALUE...]`, with the refusals of the peers in C++."""
from __future__ import annotations

import ipaddress
import re
import sys
from dataclasses import dataclass

MOST_WORKERS = 1024


class UsageError(Exception):
    """What was wrong and what is allowed."""


@dataclass(frozen=True)
class CommandLine:
    """`port` 0: the system chooses one."""

    host: str
    port: int
    workers: int


def _whole_number(name: str, text: str, least: int, most: int) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
        raise UsageError(f'{name} is "{text}" but must be a whole number from {least} to {most}')
    return int(text)


def _parse(words: list[str]) -> CommandLine:
    names = ("HOST", "PORT", "WORKERS")
    options = [word for word in words if word.startswith("-") and not re.match(r"-[0-9]", word)]
    if options:
        raise UsageError(f"{options[0]} is no option")
    if len(words) < len(names):
        raise UsageError(f"{names[len(words)]} is required")
    host, port, workers, *assignments = words
    command = CommandLine(host, _whole_number("PORT", port, 0, 65535),
                          _whole_number("WORKERS", workers, 1, MOST_WORKERS))
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise UsageError(f'HOST is "{host}" but must be an address in digits such as '
                         "127.0.0.1 or ::1") from None
    if assignments:
        raise UsageError(f'"{assignments[0]}" is no NAME=VALUE that is known; '
                         "there are none here")
    return command


def printable(text: str) -> str:
    """A line stays a line, whatever was typed."""
    return "".join(c if c.isprintable() else "?" for c in text)


def parse(program: str, words: list[str]) -> CommandLine:
    """Ends the process on bad input, with one line on standard error (status 2)."""
    usage = f"usage: {program} HOST PORT WORKERS"
    if words in (["--help"], ["-h"]):
        print(usage)
        sys.exit(0)
    try:
        return _parse(words)
    except UsageError as error:
        print(f"{program}: {printable(str(error))}; {usage}", file=sys.stderr)
        sys.exit(2)
