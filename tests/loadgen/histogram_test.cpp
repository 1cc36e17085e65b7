#include "histogram.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "arrivals.hpp"

namespace heddle::load {
namespace {

std::uint64_t samples_in(const std::vector<histogram::bucket>& buckets) {
  std::uint64_t sum = 0;
  for (const histogram::bucket& one : buckets) sum += one.count;
  return sum;
}

TEST(histogram, keeps_every_value_within_a_thousandth) {
  // Around each power of two, where buckets change their width, and in between.
  for (unsigned bits = 0; bits < 40; ++bits) {
    for (const std::uint64_t beside : {0u, 1u, 2u, 3u, 511u, 1023u}) {
      for (const std::uint64_t value :
           {(std::uint64_t{1} << bits) + beside, (std::uint64_t{1} << bits) - 1}) {
        histogram times;
        times.add(value);
        const auto buckets = times.buckets();
        ASSERT_EQ(buckets.size(), 1u);
        EXPECT_LE(buckets[0].low_ns, value);
        EXPECT_GT(buckets[0].high_ns, value);
        EXPECT_LE(static_cast<double>(buckets[0].high_ns - buckets[0].low_ns - 1),
                  histogram::relative_error * static_cast<double>(buckets[0].low_ns))
            << value;
      }
    }
  }
}

TEST(histogram, is_exact_below_two_microseconds) {
  histogram times;
  for (std::uint64_t value = 0; value < 2048; ++value) times.add(value);
  const auto buckets = times.buckets();
  ASSERT_EQ(buckets.size(), 2048u);
  for (std::uint64_t value = 0; value < 2048; ++value) EXPECT_EQ(buckets[value].low_ns, value);
}

TEST(histogram, agrees_with_sorting_on_every_quantile) {
  histogram times;
  std::vector<std::uint64_t> values;
  random_bits random(7, 0);
  for (unsigned count = 0; count < 20'000; ++count) {
    values.push_back(random.next() >> (24 + count % 30));  // from 1 us to 1000 s
    times.add(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double quantile : {0.0001, 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
    const auto rank = static_cast<std::size_t>(quantile * 20'000 + 0.5);
    const auto exact = static_cast<double>(values[rank - 1]);
    EXPECT_NEAR(static_cast<double>(times.quantile_ns(quantile)), exact, exact * 0.001 + 1)
        << quantile;
  }
  EXPECT_EQ(times.min_ns(), values.front());
  EXPECT_EQ(times.max_ns(), values.back());
}

TEST(histogram, merged_is_the_histogram_of_all_values) {
  histogram parts[3];
  histogram whole;
  random_bits random(3, 0);
  for (unsigned count = 0; count < 9'000; ++count) {
    const std::uint64_t value = random.next() >> 30;
    // Unequal parts, so that a mean of their quantiles would be off.
    parts[count % 10 == 0 ? 0 : count % 3 == 0 ? 1 : 2].add(value >> (count % 10 == 0 ? 0 : 6));
    whole.add(value >> (count % 10 == 0 ? 0 : 6));
  }
  histogram merged;
  for (const histogram& part : parts) merged.add(part);
  EXPECT_EQ(merged.samples(), whole.samples());
  EXPECT_EQ(samples_in(merged.buckets()), 9'000u);
  EXPECT_DOUBLE_EQ(merged.mean_ns(), whole.mean_ns());
  EXPECT_EQ(merged.min_ns(), whole.min_ns());
  EXPECT_EQ(merged.max_ns(), whole.max_ns());
  for (const double quantile : {0.5, 0.9, 0.99, 0.999})
    EXPECT_EQ(merged.quantile_ns(quantile), whole.quantile_ns(quantile));
}

TEST(histogram, counts_what_is_too_long_into_the_last_bucket) {
  histogram times;
  times.add(~std::uint64_t{0} >> 1);
  ASSERT_EQ(times.buckets().size(), 1u);
  EXPECT_EQ(times.buckets()[0].high_ns, std::uint64_t{1} << 40);
  EXPECT_EQ(times.max_ns(), ~std::uint64_t{0} >> 1);
}

TEST(histogram, of_nothing_is_all_zero) {
  const histogram times;
  EXPECT_EQ(times.samples(), 0u);
  EXPECT_EQ(times.mean_ns(), 0);
  EXPECT_EQ(times.min_ns(), 0u);
  EXPECT_EQ(times.quantile_ns(0.99), 0u);
  EXPECT_TRUE(times.buckets().empty());
}

}  // namespace
}  // namespace heddle::load
