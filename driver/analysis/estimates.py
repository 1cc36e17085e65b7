"""Centres, intervals and p-values of paired rounds, with the standard library only.

docs/methodology.md names the literature. Values come in clusters, one for each host and build;
the bootstrap resamples clusters first and whole rounds inside them.
"""
from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

MOST_RESAMPLES, FEWEST_RESAMPLES = 1000, 400
PAIRS_IN_ALL = 100_000  # of all resamples of one estimate, which bounds its time
FEWEST_ROUNDS_FOR_95 = 6  # the range of n values covers their median with 1 - 2^(1-n): 0.969 at six
MOST_EXACT = 50  # rounds up to which the signed-rank distribution is counted out


@dataclass(frozen=True)
class Estimate:
    """A centre over `rounds` rounds with its interval; all in the unit of the values."""

    median: float
    low: float
    high: float
    rounds: int

    def map(self, function: Callable[[float], float]) -> Estimate:
        """Through a function that never falls."""
        return Estimate(function(self.median), function(self.low), function(self.high), self.rounds)


def hodges_lehmann(values: Sequence[float]) -> float:
    """The median of the means of all pairs, a value with itself included: as little moved by
    outliers as the median, but surer when the values scatter evenly."""
    return statistics.median([one + other for at, one in enumerate(values)
                              for other in values[at:]]) / 2


def interval(resampled: Iterable[float], rounds: int | None = None) -> tuple[float, float]:
    """The middle 95 % of what the resamples gave. With `rounds` given, more of it: as much as makes
    up for what a bootstrap of so few values misses (Hesterberg's expanded percentiles)."""
    ordered = sorted(resampled)
    tail = 0.025
    if rounds is not None and rounds > 1:
        wide = math.sqrt(rounds / (rounds - 1)) * student_quantile(0.975, rounds - 1)
        tail = statistics.NormalDist().cdf(-wide)
    skipped = int(len(ordered) * tail)
    return ordered[skipped], ordered[len(ordered) - 1 - skipped]


def clustered_estimate(clusters: Sequence[Sequence[float]], seed: int = 0,
                       centre: Callable[[Sequence[float]], float] = statistics.median
                       ) -> Estimate | None:
    """Centre of all values with a 95 % bootstrap interval: clusters outside, rounds inside. With
    fewer than six rounds the interval is the whole range, which covers less. None without values.
    """
    clusters = [cluster for cluster in clusters if cluster]
    values = [value for cluster in clusters for value in cluster]
    if not values:
        return None
    middle, count = centre(values), len(values)
    if count < FEWEST_ROUNDS_FOR_95:
        return Estimate(middle, min(values), max(values), count)
    if min(values) == max(values):
        return Estimate(middle, middle, middle, count)
    chance = random.Random(seed)
    pairs = count * (count + 1) // 2
    resamples = min(MOST_RESAMPLES, max(FEWEST_RESAMPLES, PAIRS_IN_ALL // pairs))

    def resampled() -> float:
        outer = chance.choices(clusters, k=len(clusters)) if len(clusters) > 1 else clusters
        return centre([value for one in outer for value in chance.choices(one, k=len(one))])

    low, high = interval((resampled() for _ in range(resamples)), count)
    return Estimate(middle, min(low, middle), max(high, middle), count)


def estimate(values: Sequence[float], seed: int = 0,
             centre: Callable[[Sequence[float]], float] = statistics.median) -> Estimate | None:
    """clustered_estimate of rounds of one host and build."""
    return clustered_estimate([values], seed, centre)


def ratio_estimate(ratios: Sequence[float], seed: int = 0) -> Estimate | None:
    """Hodges-Lehmann estimate of the logarithms, as a ratio: turned upside down, the ratios give
    the estimate upside down."""
    return clustered_ratio([ratios], seed)


def clustered_ratio(clusters: Sequence[Sequence[float]], seed: int = 0) -> Estimate | None:
    """ratio_estimate with hosts and builds outside."""
    logarithms = [[math.log(ratio) for ratio in cluster] for cluster in clusters]
    found = clustered_estimate(logarithms, seed, hodges_lehmann)
    return found and found.map(math.exp)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Continued fraction of the incomplete beta function, by the modified Lentz method."""
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    found = d
    for m in range(1, 400):
        for step in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 + step * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + step / c
            c = c if abs(c) > tiny else tiny
            found *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return found


def student_two_sided(statistic: float, degrees: int) -> float:
    """The chance that a Student variable is at least so far from zero."""
    if math.isinf(statistic):
        return 0.0
    x = degrees / (degrees + statistic * statistic)
    a, b = degrees / 2, 0.5
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
                     + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1 - front * _beta_fraction(b, a, 1 - x) / b


def student_quantile(share: float, degrees: int) -> float:
    """Where a Student variable lies below with chance `share`, above one half, by bisection."""
    low, high = 0.0, 1e4
    for _ in range(80):
        middle = (low + high) / 2
        if 1 - student_two_sided(middle, degrees) / 2 < share:
            low = middle
        else:
            high = middle
    return high


def student_p(values: Sequence[float]) -> float:
    """Two-sided p-value that the mean of the values is zero; 1 for fewer than two."""
    if len(values) < 2:
        return 1.0
    mean, spread = statistics.fmean(values), statistics.stdev(values)
    if spread <= 1e-12 * abs(mean):
        return 0.0 if mean else 1.0
    return student_two_sided(mean / spread * math.sqrt(len(values)), len(values) - 1)


def wilcoxon_p(values: Sequence[float]) -> float:
    """Two-sided p-value of the signed-rank test that the values lie evenly about zero. Zeros are
    left out; counted out exactly up to 50 values, ties included, else by the normal distribution.
    """
    kept = sorted((value for value in values if value), key=abs)
    if not kept:
        return 1.0
    ranks: list[int] = []  # doubled, so that the mean ranks of ties are whole
    while len(ranks) < len(kept):
        size = abs(kept[len(ranks)])
        ties = sum(abs(value) == size for value in kept)
        ranks += [2 * len(ranks) + ties + 1] * ties
    positive = sum(rank for rank, value in zip(ranks, kept) if value > 0)
    total = sum(ranks)
    extreme = min(positive, total - positive)
    if len(kept) <= MOST_EXACT:
        ways = [1] + [0] * total
        for rank in ranks:
            for at in range(total, rank - 1, -1):
                ways[at] += ways[at - rank]
        return min(1.0, 2 * sum(ways[:extreme + 1]) / 2 ** len(kept))
    deviation = math.sqrt(sum(rank * rank for rank in ranks)) / 2
    return min(1.0, 2 * statistics.NormalDist().cdf((extreme + 1 - total / 2) / deviation))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment for so many comparisons, in the order given."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for step, at in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - step) * p_values[at]))
        adjusted[at] = largest
    return adjusted


def outliers(values: Sequence[float]) -> list[bool]:
    """Which values lie more than 3.5 scaled median deviations from the median; for flags only."""
    if len(values) < FEWEST_ROUNDS_FOR_95:
        return [False] * len(values)
    middle = statistics.median(values)
    deviation = 1.4826 * statistics.median(abs(value - middle) for value in values)
    return [deviation > 0 and abs(value - middle) > 3.5 * deviation for value in values]
