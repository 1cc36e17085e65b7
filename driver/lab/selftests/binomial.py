"""How sure a share is that was counted: the interval of Clopper and Pearson."""
from __future__ import annotations

import math
from collections.abc import Callable


def at_most(count: int, trials: int, share: float) -> float:
    """The chance of `count` or fewer successes in `trials`, each with chance `share`."""
    if share <= 0:
        return 1.0
    if share >= 1:
        return float(count >= trials)
    whole = math.lgamma(trials + 1)
    return math.fsum(math.exp(
        whole - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
        + k * math.log(share) + (trials - k) * math.log1p(-share)) for k in range(count + 1))


def _root(falling: Callable[[float], float]) -> float:
    """Where a function that falls from above 0 to below it on [0, 1] is 0."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


def clopper_pearson(count: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Shares that `count` of `trials` does not contradict at this level; exact, so never too
    narrow. ValueError unless 0 <= count <= trials and trials > 0."""
    if not 0 <= count <= trials or trials == 0:
        raise ValueError(f"{count} of {trials} is no count")
    tail = (1 - level) / 2
    low = 0.0 if count == 0 else _root(
        lambda share: tail - (1 - at_most(count - 1, trials, share)))
    high = 1.0 if count == trials else _root(
        lambda share: at_most(count, trials, share) - tail)
    return low, high
