"""Commands whose parts are loaded only when they are asked for."""
from __future__ import annotations

import importlib
from collections.abc import Callable

# command → module and function
_PARTS = {
    "report": ("driver.analysis.commands", "command_report"),
    "compare": ("driver.analysis.commands", "command_compare"),
    "artifact": ("driver.analysis.commands", "command_artifact"),
    "selftest": ("driver.lab.selftest", "command_selftest"),
    "doctor": ("driver.lab.doctor", "command_doctor"),
    "submit": ("driver.lab.submit", "command_submit"),
}


def _command(module: str, function: str) -> Callable[[list[str]], int]:
    def run(words: list[str]) -> int:
        return getattr(importlib.import_module(module), function)(words)
    return run


def commands() -> dict[str, Callable[[list[str]], int]]:
    return {name: _command(*part) for name, part in _PARTS.items()}
