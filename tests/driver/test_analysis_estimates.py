"""Estimates, p-values and verdicts: known values, scipy where it is there, and A/A is silent."""
import math
import random
import statistics
import unittest

import support  # noqa: F401  (puts the project on the path)
from driver.analysis import estimates, verdicts
from driver.analysis.estimates import Estimate, holm, student_p, wilcoxon_p
from driver.analysis.verdicts import Band

try:
    from scipy import stats
except ImportError:
    stats = None


class Estimates(unittest.TestCase):
    def test_hodges_lehmann_is_the_median_of_pairwise_means(self):
        self.assertEqual(estimates.hodges_lehmann([1, 2, 6]), 2.75)  # of 1, 1.5, 2, 3.5, 4, 6
        self.assertEqual(estimates.hodges_lehmann([5]), 5)

    def test_few_rounds_give_their_range_and_none_give_none(self):
        self.assertEqual(estimates.estimate([3, 1, 2]), Estimate(2, 1, 3, 3))
        self.assertIsNone(estimates.estimate([]))
        self.assertIsNone(estimates.clustered_ratio([[], []]))

    def test_same_data_and_seed_give_the_same_interval(self):
        values = [random.Random(1).gauss(10, 1) for _ in range(20)]
        self.assertEqual(estimates.estimate(values, 4), estimates.estimate(values, 4))
        self.assertEqual(estimates.estimate([2.0] * 9), Estimate(2.0, 2.0, 2.0, 9))

    def test_ratios_turned_upside_down_give_the_estimate_upside_down(self):
        ratios = [1.5, 2.0, 2.2, 1.9, 2.1, 2.4, 1.7]
        there = estimates.ratio_estimate(ratios, 3)
        back = estimates.ratio_estimate([1 / ratio for ratio in ratios], 3)
        self.assertAlmostEqual(there.median * back.median, 1)
        self.assertTrue(1.5 <= there.low <= there.median <= there.high <= 2.4)

    def test_intervals_cover_the_truth_about_as_often_as_they_say(self):
        chance = random.Random(5)
        for rounds in (6, 12):
            hits = 0
            for trial in range(100):
                values = [[chance.gauss(0, 1) for _ in range(rounds)]]
                found = estimates.clustered_estimate(values, trial, estimates.hodges_lehmann)
                hits += found.low <= 0 <= found.high
            self.assertGreater(hits / 100, 0.88, f"{rounds} rounds")

    def test_hosts_that_disagree_widen_the_interval(self):
        chance = random.Random(2)
        quiet = [[chance.gauss(1.0, 0.01) for _ in range(8)] for _ in range(4)]
        moved = [[value + shift for value in cluster]
                 for cluster, shift in zip(quiet, (0, 0.2, -0.2, 0.3))]
        narrow, wide = (estimates.clustered_estimate(one, 1) for one in (quiet, moved))
        pooled = estimates.estimate([value for cluster in moved for value in cluster], 1)
        self.assertGreater(wide.high - wide.low, 3 * (narrow.high - narrow.low))
        self.assertGreater(wide.high - wide.low, pooled.high - pooled.low)

    def test_outliers_are_flagged(self):
        flags = estimates.outliers([1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 3.0])
        self.assertEqual(flags, [False] * 6 + [True])
        self.assertEqual(estimates.outliers([1, 1, 9]), [False] * 3)


class Tests(unittest.TestCase):
    def test_wilcoxon_counts_signs_when_all_agree(self):
        self.assertAlmostEqual(wilcoxon_p([1, 2, 3, 4, 5, 6]), 2 / 64)
        self.assertEqual(wilcoxon_p([0, 0]), 1)
        self.assertEqual(wilcoxon_p([1, -1]), 1)

    def test_student_knows_its_table(self):
        self.assertAlmostEqual(estimates.student_two_sided(2.776445, 4), 0.05, 6)
        self.assertAlmostEqual(estimates.student_two_sided(12.7062, 1), 0.05, 6)
        self.assertAlmostEqual(estimates.student_quantile(0.975, 9), 2.262157, 5)
        self.assertEqual(student_p([1, 1, 1]), 0)
        self.assertEqual(student_p([1]), 1)

    def test_holm_steps_down_and_never_falls(self):
        self.assertEqual(holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
        self.assertEqual(holm([0.9, 0.8]), [1.0, 1.0])
        self.assertEqual(holm([]), [])

    @unittest.skipIf(stats is None, "needs scipy, which Debian 12 cannot install beside Boost 1.81")
    def test_scipy_agrees(self):
        chance = random.Random(3)
        for rounds in (5, 6, 9, 20, 49, 80):
            values = [chance.gauss(0.3, 1) for _ in range(rounds)]
            theirs = stats.wilcoxon(values, mode="exact" if rounds <= 50 else "approx",
                                    correction=True).pvalue
            self.assertAlmostEqual(wilcoxon_p(values), theirs, 2 if rounds > 50 else 9)
            self.assertAlmostEqual(student_p(values), stats.ttest_1samp(values, 0).pvalue, 9)
            walsh = [(a + b) / 2 for i, a in enumerate(values) for b in values[i:]]
            self.assertAlmostEqual(estimates.hodges_lehmann(values), statistics.median(walsh))
            self.assertAlmostEqual(estimates.student_quantile(0.975, rounds),
                                   stats.t.ppf(0.975, rounds), 6)


class Verdicts(unittest.TestCase):
    BAND = Band(0.98, 1 / 0.98)

    def test_the_band_is_even_about_one(self):
        band = Band.of(Estimate(1.01, 0.99, 1.04, 8))
        self.assertAlmostEqual(band.low * band.high, 1)
        self.assertAlmostEqual(band.high, 1.04)
        self.assertIsNone(Band.of(Estimate(1, 1, 1, 5)))
        self.assertIsNone(Band.of(None))

    def test_all_must_agree_before_something_is_found(self):
        found = Estimate(1.2, 1.1, 1.3, 8)
        self.assertEqual(verdicts.verdict(found, 0.01, self.BAND, 1), "faster")
        self.assertEqual(verdicts.verdict(found, 0.01, self.BAND, -1), "slower")
        for ratio, p, band in ((found, 0.06, self.BAND), (found, 0.01, None),
                               (None, 0.0, self.BAND),
                               (Estimate(1.2, 0.99, 1.3, 8), 0.01, self.BAND),
                               (Estimate(1.2, 1.1, 1.3, 5), 0.01, self.BAND),
                               (Estimate(1.01, 0.9, 1.1, 8), 0.01, self.BAND)):
            self.assertEqual(verdicts.verdict(ratio, p, band, 1), "inconclusive", (ratio, p, band))
        inside = Estimate(1.01, 0.99, 1.03, 8)
        self.assertEqual(verdicts.verdict(inside, 0.001, self.BAND, 1), "indistinguishable")


def heavy(chance):
    """A Student variable of two degrees: its variance is infinite."""
    return 0.02 * chance.gauss(0, 1) / math.sqrt(chance.expovariate(1))


def spiky(chance):
    """Quiet, but one cell in five is slowed by up to a half, as by a neighbour."""
    return 0.01 * chance.gauss(0, 1) - (0.5 * chance.random() if chance.random() < 0.2 else 0)


def coarse(chance):
    """Times that a clock of 1 % steps has rounded."""
    return round(0.01 * chance.gauss(0, 1), 2)


class SilenceOverTheSame(unittest.TestCase):
    COMPARISONS = 420

    def false_findings(self, noise, rounds, cells, seed=11):
        """How many of the comparisons of equal rows, `cells` to a family, are found to differ. With
        one cell to a family Holm adjusts nothing, which is the hardest case."""
        chance = random.Random(f"{seed}/{rounds}/{noise.__name__}")
        found = 0
        for family in range(self.COMPARISONS // cells):
            base = [noise(chance) for _ in range(rounds)]
            again = [noise(chance) - one for one in base]
            rows = [[noise(chance) - one for one in base] for _ in range(cells)]
            adjusted = holm([verdicts.p_value(row) for row in rows])
            for row, p in zip(rows, adjusted):
                if p > verdicts.LEVEL:
                    continue  # whatever the ratio, nothing is found
                band = Band.of(estimates.ratio_estimate(list(map(math.exp, again)), family))
                ratio = estimates.ratio_estimate(list(map(math.exp, row)), family)
                found += verdicts.verdict(ratio, p, band, 1) in ("faster", "slower")
        return found

    def test_false_findings_stay_below_five_percent(self):
        for noise in (heavy, spiky, coarse):
            for rounds in (3, 6, 8, 15):
                for cells in (1, 20):
                    with self.subTest(noise=noise.__name__, rounds=rounds, cells=cells):
                        found = self.false_findings(noise, rounds, cells)
                        self.assertLessEqual(found, 0.05 * self.COMPARISONS)
                        if rounds < 6:
                            self.assertEqual(found, 0)

    def test_a_difference_is_found_in_few_rounds_among_many_cells(self):
        chance = random.Random(8)
        noise = [[0.01 * chance.gauss(0, 1) for _ in range(7)] for _ in range(30)]
        band = Band.of(estimates.ratio_estimate([math.exp(x) for x in noise[0]]))
        slower = [value - 0.1 for value in noise[1]]
        p = holm([verdicts.p_value(row) for row in [*noise[2:], slower]])[-1]
        ratio = estimates.ratio_estimate([math.exp(x) for x in slower])
        self.assertEqual(verdicts.verdict(ratio, p, band, 1), "slower")


if __name__ == "__main__":
    unittest.main()
