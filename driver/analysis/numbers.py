"""Numbers as text, with no more digits than their interval allows."""
from __future__ import annotations

import math

from driver.analysis.estimates import Estimate

ABSENT = "-"


def significant(value: float, digits: int = 3) -> str:
    """So many digits, never in exponents: what a number without an interval gets. A whole number
    ends without zeros after a point."""
    if not math.isfinite(value) or value == int(value) and abs(value) < 10 ** digits:
        return f"{value:g}"
    return fixed(value, digits - 1 - math.floor(math.log10(abs(value))))


def fixed(value: float, decimals: int) -> str:
    """Rounded to 10^-decimals, which may be a power above one."""
    rounded = round(value, decimals)
    return f"{rounded + 0.0:.{max(0, decimals)}f}"  # + 0.0: no minus sign before a zero


def decimals_of(estimate: Estimate) -> int:
    """The last place that half the interval's width allows: its second digit when it starts with 1
    or 2, else its first."""
    half = (estimate.high - estimate.low) / 2
    largest = max(abs(estimate.high), abs(estimate.low))
    if half <= largest * 1e-3:
        return 2 - math.floor(math.log10(largest)) if largest else 0
    power = math.floor(math.log10(half))
    return -power + (1 if half / 10 ** power < 3 else 0)


def centre(estimate: Estimate | None) -> str:
    """The middle alone."""
    return ABSENT if estimate is None else fixed(estimate.median, decimals_of(estimate))


def bounds(estimate: Estimate | None) -> str:
    """The two ends in brackets."""
    if estimate is None:
        return ABSENT
    decimals = decimals_of(estimate)
    return f"[{fixed(estimate.low, decimals)}, {fixed(estimate.high, decimals)}]"


def with_interval(estimate: Estimate | None) -> str:
    """The middle, then the interval; alone when it has no width."""
    if estimate is None:
        return ABSENT
    if estimate.low == estimate.high:
        return significant(estimate.median)
    return f"{centre(estimate)} {bounds(estimate)}"


def plain(value: float | None, digits: int = 3) -> str:
    return ABSENT if value is None else significant(value, digits)
