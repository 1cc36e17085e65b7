"""What a person sees: notices on stderr, results on stdout, one progress line on a terminal."""
from __future__ import annotations

import os
import sys
import time

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_CELLS_FAILED = 3
EXIT_QUALITY_GATE = 4
EXIT_INTERRUPTED = 130


class Problem(Exception):
    """An expected failure: `heddle: MESSAGE` is all the user needs, then this exit code."""

    def __init__(self, message: str, exit_code: int = EXIT_FAILED):
        super().__init__(message)
        self.exit_code = exit_code


class UsageProblem(Problem):
    """Bad input on the command line; the message names what is allowed."""

    def __init__(self, message: str):
        super().__init__(message, EXIT_USAGE)


def automated() -> bool:
    """True under continuous integration, where no question may be asked even with a terminal."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def _is_terminal(stream) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def can_ask() -> bool:
    """A person is there to answer: both ends are a terminal and nothing automatic runs us."""
    return _is_terminal(sys.stdin) and _is_terminal(sys.stderr) and not automated()


def is_live() -> bool:
    """Output may be redrawn: stdout and stderr are a terminal, not a log."""
    return _is_terminal(sys.stdout) and _is_terminal(sys.stderr) and not automated()


def say(line: str) -> None:
    """One notice on stderr, in order with what stdout has already got."""
    sys.stdout.flush()
    print(line, file=sys.stderr, flush=True)


def clock_time(after_s: float) -> str:
    """The wall-clock time HH:MM:SS that lies `after_s` seconds ahead."""
    return time.strftime("%H:%M:%S", time.localtime(time.time() + after_s))


class Progress:
    """A bar with rate and expected end; silent unless stderr is a terminal."""

    WIDTH = 24

    def __init__(self) -> None:
        self.live = is_live()
        self.started_s = time.monotonic()

    def show(self, done: int, total: int, label: str) -> None:
        """Draw `done` of `total` cells; `label` says what runs now."""
        if not self.live:
            return
        elapsed_s = time.monotonic() - self.started_s
        filled = self.WIDTH * done // max(total, 1)
        line = f"[{'#' * filled}{'.' * (self.WIDTH - filled)}] {done}/{total}"
        if done:
            rate = done / elapsed_s
            line += f"  {rate:.2f} cells/s  ends {clock_time((total - done) / rate)}"
        columns = _columns()
        print("\r\033[K" + f"{line}  {label}"[: columns - 1], end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the bar away, so that the next line starts clean."""
        if self.live:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
