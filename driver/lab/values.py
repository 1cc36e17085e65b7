"""Values that people write in campaigns and on the command line, with one-line refusals."""
from __future__ import annotations

import re

_UNITS_S = {"": 1, "s": 1, "m": 60, "h": 3600}


def parse_duration(text: str) -> float:
    """Seconds in `90`, `240s`, `4m` or `1h`; ValueError otherwise."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if not match or float(match.group(1)) == 0:
        raise ValueError(f"'{text}' is not a duration such as 240s or 4m")
    return float(match.group(1)) * _UNITS_S[match.group(2)]


def parse_percent(text: str) -> float:
    """Percent in `2%` or `2`, above 0 and at most 100; ValueError otherwise."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)%?", text)
    if not match or not 0 < float(match.group(1)) <= 100:
        raise ValueError(f"'{text}' is not a share such as 2%")
    return float(match.group(1))


def span(seconds: float) -> str:
    """A duration for people: `42 s`, `3 min 20 s`, `1 h 05 min`."""
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
