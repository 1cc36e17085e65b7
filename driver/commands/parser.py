"""What all commands share: a parser with one-line errors, checked values, common options."""
from __future__ import annotations

import argparse
import re
from pathlib import Path

from driver.console import UsageProblem
from driver.lab import values
from driver.meson import BuildDirectory

ROOT = Path(__file__).resolve().parents[2]

# sanitizer → build directory and compilers (None: meson's choice)
FLAVOURS = {
    "none": ("build", None),
    "address": ("build-address", ("gcc", "g++")),
    "thread": ("build-thread", ("clang", "clang++")),
}


class Parser(argparse.ArgumentParser):
    """Errors as one line that says what is allowed, instead of a block of usage."""

    def __init__(self, command: str, description: str):
        super().__init__(prog=f"./heddle {command}", description=description, allow_abbrev=False)

    def error(self, message: str) -> None:
        what = self.prog.removeprefix("./heddle ")
        raise UsageProblem(f"{what}: {message.removeprefix('argument ')}")

    def parse(self, words: list[str]) -> argparse.Namespace:
        """Options and words in any order; UsageProblem names what is allowed instead."""
        options, extra = self.parse_known_intermixed_args(words)
        if extra:
            what = "option" if extra[0].startswith("-") else "word"
            allowed = ", ".join(action.option_strings[-1] for action in self._actions
                                if action.option_strings)
            self.error(f"unknown {what} '{extra[0]}'; allowed: {allowed}")
        return options


def number(low: int, high: int):
    def parse(text: str) -> int:
        # isascii: int() also takes digits of other scripts, spaces and underscores.
        if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from {low} to {high}")
        return int(text)
    return parse


def decimal(low: float, high: float):
    def parse(text: str) -> float:
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) or not low <= float(text) <= high:
            raise argparse.ArgumentTypeError(f"'{text}' is not a number from {low:g} to {high:g}")
        return float(text)
    return parse


def list_of(parse):
    """Several values with commas between them."""
    def parse_all(text: str) -> tuple:
        return tuple(dict.fromkeys(parse(part) for part in text.split(",")))
    return parse_all


def _told(parse):
    """A parser of values, whose ValueError becomes argparse's."""
    def parse_told(text: str) -> float:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
    return parse_told


duration = _told(values.parse_duration)
percent = _told(values.parse_percent)


def definition(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE")
    return name, value


def add_filter(parser: Parser) -> None:
    parser.add_argument("words", nargs="*", metavar="FILTER",
                        help="words that must all occur in a name")


def add_build(parser: Parser) -> None:
    parser.add_argument("-D", dest="definitions", action="append", type=definition, default=[],
                        metavar="NAME=VALUE", help="option for meson: -Dcombinations='epoll-*'")
    parser.add_argument("-j", "--jobs", type=number(1, 4096), metavar="N",
                        help="compile N files at once")


def add_seed_and_out(parser: Parser) -> None:
    parser.add_argument("--seed", type=number(0, 2**63 - 1), metavar="N",
                        help="of the order and the intervals")
    parser.add_argument("--out", type=Path, metavar="DIR",
                        help="results go here (build/bench/results-DATE-TIME)")


def build_directory(sanitizer: str, definitions: list[tuple[str, str]]) -> BuildDirectory:
    name, compilers = FLAVOURS[sanitizer]
    # Under a sanitizer every pair of axes is enough (-Dpairwise=false asks for all combinations),
    # and building takes longer than running.
    options = {} if sanitizer == "none" else {"sanitizer": sanitizer, "pairwise": "true",
                                              "optimization": "1"}
    return BuildDirectory(ROOT, ROOT / name, compilers, {**options, **dict(definitions)})


def groups(sanitizers: list[str], *more: str) -> list[str]:
    """The groups of packages that builds with these sanitizers need."""
    return ["build", *more, *(["clang"] if "thread" in sanitizers else [])]
