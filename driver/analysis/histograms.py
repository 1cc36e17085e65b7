"""Latency histograms: summed bucket by bucket over rounds, never averaged."""
from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate

from driver.analysis.estimates import Estimate, interval

FEWEST_BEYOND = 10  # samples beyond a quantile, else it is chance
RESAMPLES = 200
COARSE = 1.01  # neighbours closer than this share a bucket while an interval is looked for

Buckets = Sequence[tuple[float, int]]  # value in ns and how many, rising


def buckets_of(histogram: dict) -> list[tuple[float, int]]:
    """The middle and the count of each bucket [low, high, count] of a load generator's object."""
    return [((low + high) / 2, count) for low, high, count in histogram["buckets"] if count]


def merge(histograms: Iterable[Buckets]) -> list[tuple[float, int]]:
    """The sum of histograms."""
    summed: dict[float, int] = {}
    for one in histograms:
        for value, count in one:
            summed[value] = summed.get(value, 0) + count
    return sorted(summed.items())


def quantile(buckets: Buckets, share: float) -> float | None:
    """The smallest value at or below which `share` of the samples lie; None when fewer than ten lie
    beyond it."""
    below = list(accumulate(count for _, count in buckets))
    if not below or below[-1] * (1 - share) < FEWEST_BEYOND * (1 - 1e-9):
        return None
    return _at(buckets, below, share)


def _at(buckets: Buckets, below: list[int], share: float) -> float:
    return buckets[bisect_left(below, share * below[-1] * (1 - 1e-12))][0]


def mean(buckets: Buckets) -> float | None:
    samples = sum(count for _, count in buckets)
    return sum(value * count for value, count in buckets) / samples if samples else None


def survival(buckets: Buckets) -> list[tuple[float, float]]:
    """The share of samples above each value, as far as ten samples lie above."""
    left = samples = sum(count for _, count in buckets)
    found = []
    for value, count in buckets:
        left -= count
        if left < FEWEST_BEYOND:
            break
        found.append((value, left / samples))
    return found


def quantile_estimates(histograms: Sequence[Buckets], shares: Sequence[float], seed: int
                       ) -> list[Estimate | None]:
    """Quantiles of the sum of one histogram a round, with a bootstrap interval over the rounds.
    None where fewer than ten samples lie beyond."""
    whole = merge(histograms)
    middles = [quantile(whole, share) for share in shares]
    if not whole or all(middle is None for middle in middles):
        return [None] * len(shares)
    values: list[float] = []
    for value, _ in whole:
        if not values or value > values[-1] * COARSE:
            values.append(value)
    dense = []
    for one in histograms:
        counts = [0] * len(values)
        for value, count in one:
            counts[bisect_left(values, value * (1 + 1e-12)) - 1] += count
        dense.append(counts)
    chance = random.Random(seed)
    resampled = []
    for _ in range(RESAMPLES):
        summed = list(map(sum, zip(*chance.choices(dense, k=len(dense)))))
        buckets = list(zip(values, summed))
        below = list(accumulate(summed))
        resampled.append([_at(buckets, below, share) for share in shares])
    found: list[Estimate | None] = []
    for at, middle in enumerate(middles):
        if middle is None:
            found.append(None)
            continue
        low, high = interval((one[at] for one in resampled), len(histograms))
        found.append(Estimate(middle, min(low, middle), max(high, middle), len(histograms)))
    return found
