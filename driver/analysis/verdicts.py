"""When two things differ: tests, interval and the band of the reference against itself agree."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from driver.analysis.estimates import FEWEST_ROUNDS_FOR_95, Estimate, student_p, wilcoxon_p

LEVEL = 0.05
FASTER, SLOWER = "faster", "slower"
INDISTINGUISHABLE, INCONCLUSIVE = "indistinguishable", "inconclusive"


@dataclass(frozen=True)
class Band:
    """Ratios inside it are what the reference differs from itself by; low * high is 1."""

    low: float
    high: float

    @classmethod
    def of(cls, again: Estimate | None) -> Band | None:
        """The interval of A' to A, made even about 1. None with too few rounds to have one."""
        if again is None or again.rounds < FEWEST_ROUNDS_FOR_95:
            return None
        high = max(again.high, 1 / again.low)
        return cls(1 / high, high)

    def holds(self, ratio: float) -> bool:
        return self.low <= ratio <= self.high

    def stretched(self) -> Band:
        """Twice as wide on a log scale."""
        return Band(self.low ** 2, self.high ** 2)


def p_value(logarithms: Sequence[float]) -> float:
    """Of the paired logarithms: Student's, unless the signed ranks do not agree at the 5 % level,
    which asks nothing of how the noise is distributed; then theirs, if it is larger."""
    ranks = wilcoxon_p(logarithms)
    found = student_p(logarithms)
    return found if ranks <= LEVEL else max(found, ranks)


def verdict(ratio: Estimate | None, adjusted_p: float, band: Band | None, better: int) -> str:
    """faster or slower when the adjusted p-value, the interval and the band all say so;
    indistinguishable when the ratio lies inside the band and its interval inside one twice as
    wide; else inconclusive, as with fewer than six rounds or no band. `better` is 1 where more is
    better, -1 where less is."""
    if ratio is None or band is None or ratio.rounds < FEWEST_ROUNDS_FOR_95:
        return INCONCLUSIVE
    if band.holds(ratio.median):
        wide = band.stretched()
        inside = wide.holds(ratio.low) and wide.holds(ratio.high)
        return INDISTINGUISHABLE if inside else INCONCLUSIVE
    if adjusted_p > LEVEL or ratio.low <= 1 <= ratio.high:
        return INCONCLUSIVE
    return FASTER if math.log(ratio.median) * better > 0 else SLOWER


def differ(ratio: Estimate | None, logarithms: Sequence[float], band: Band | None,
           comparisons: int = 1) -> bool:
    """Whether two rows, paired by rounds, are told apart among so many comparisons."""
    p = min(1.0, comparisons * p_value(logarithms))
    return verdict(ratio, p, band, 1) in (FASTER, SLOWER)
