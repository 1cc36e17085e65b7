"""How a measurement goes wrong: the cell, the whole run, or a person who wants it to stop."""
from __future__ import annotations

import signal

from driver.console import EXIT_FAILED, Problem


class CellFailure(Exception):
    """The server or the load failed; the text is the record's reason."""


class Interrupted(Exception):
    """A signal asked to stop; raised only where nothing is left behind."""


class RunStopped(Problem):
    """Measuring cannot go on, such as on a full disk; what was measured stays."""

    def __init__(self, message: str):
        super().__init__(message, EXIT_FAILED)


class Interrupt:
    """Turns SIGINT, SIGTERM and SIGHUP into a flag that `check` raises at safe points."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self.requested = False
        self._previous: dict[int, object] = {}

    def __enter__(self) -> Interrupt:
        for number in self.SIGNALS:
            self._previous[number] = signal.signal(number, self._request)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _request(self, *_: object) -> None:
        self.requested = True

    def check(self) -> None:
        """Raises Interrupted once a signal has come."""
        if self.requested:
            raise Interrupted


def describe_exit(status: int | None) -> str:
    """Popen's return code in words."""
    if status is not None and status < 0:
        return f"signal {-status}"
    return f"exit status {status}"
