#include "arrivals.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace heddle::load {
namespace {

constexpr std::uint64_t start_ns = 1'000'000'000'000;

std::vector<std::uint64_t> first(arrivals schedule, std::size_t count) {
  std::vector<std::uint64_t> due_ns;
  schedule.start(start_ns);
  for (; due_ns.size() < count; schedule.advance()) due_ns.push_back(schedule.due_ns());
  return due_ns;
}

TEST(arrivals, constant_ones_of_all_threads_are_evenly_spaced) {
  std::vector<std::uint64_t> all;
  for (unsigned thread = 0; thread < 3; ++thread) {
    const auto own = first({arrival_pattern::constant, 1000, thread, 3, 1}, 1000);
    all.insert(all.end(), own.begin(), own.end());
  }
  std::sort(all.begin(), all.end());
  for (std::size_t at = 0; at < all.size(); ++at)
    EXPECT_NEAR(static_cast<double>(all[at] - start_ns), static_cast<double>(at) * 1e6, 1.0);
}

TEST(arrivals, constant_ones_do_not_drift) {
  arrivals schedule(arrival_pattern::constant, 3, 0, 1, 1);  // no whole number of ns apart
  schedule.start(start_ns);
  for (unsigned count = 0; count < 300'000; ++count) schedule.advance();
  EXPECT_NEAR(static_cast<double>(schedule.due_ns() - start_ns), 1e14, 2.0);
}

TEST(arrivals, poisson_ones_have_exponential_gaps_of_the_right_mean) {
  constexpr std::size_t count = 100'000;
  const auto due_ns = first({arrival_pattern::poisson, 2000, 1, 4, 42}, count);
  double sum = 0;
  double squares = 0;
  std::size_t longer_than_mean = 0;
  std::uint64_t before = start_ns;
  for (const std::uint64_t one : due_ns) {
    ASSERT_GE(one, before);
    const double gap_ns = static_cast<double>(one - before);
    before = one;
    sum += gap_ns;
    squares += gap_ns * gap_ns;
    longer_than_mean += gap_ns > 2e6 ? 1 : 0;
  }
  const double mean = sum / count;
  EXPECT_NEAR(mean, 2e6, 2e6 * 0.015);  // a quarter of 2000/s; more than four standard errors
  EXPECT_NEAR(squares / count / (mean * mean), 2.0, 0.1);
  EXPECT_NEAR(static_cast<double>(longer_than_mean) / count, std::exp(-1.0), 0.01);
}

TEST(arrivals, repeat_with_the_seed_and_differ_between_threads_and_seeds) {
  const auto one = first({arrival_pattern::poisson, 1000, 0, 2, 5}, 100);
  EXPECT_EQ(one, first({arrival_pattern::poisson, 1000, 0, 2, 5}, 100));
  EXPECT_NE(one, first({arrival_pattern::poisson, 1000, 1, 2, 5}, 100));
  EXPECT_NE(one, first({arrival_pattern::poisson, 1000, 0, 2, 6}, 100));
}

}  // namespace
}  // namespace heddle::load
