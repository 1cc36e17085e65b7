#include <chrono>
#include <limits>

#include <gtest/gtest.h>

#include <heddle/base/clock.hpp>

namespace heddle {
namespace {

using namespace std::chrono_literals;

TEST(deadline, of_nothing_is_never) {
  EXPECT_TRUE(deadline().is_never());
  EXPECT_EQ(deadline().at_ns(), never_ns);
}

TEST(deadline, of_a_duration_counts_from_the_first_look_and_stays) {
  deadline limit(50ms);
  const std::uint64_t before = now_ns();
  const std::uint64_t at = limit.at_ns();
  EXPECT_GE(at, before + 50'000'000);
  EXPECT_LE(at, now_ns() + 50'000'000);
  EXPECT_EQ(limit.at_ns(), at);
}

TEST(deadline, of_a_time_point_is_that_time) {
  const auto at = std::chrono::steady_clock::time_point(123456789ns);
  EXPECT_EQ(deadline(at).at_ns(), 123456789u);
}

TEST(deadline, of_zero_or_less_has_passed) {
  EXPECT_LE(deadline(0s).at_ns(), now_ns());
  EXPECT_LE(deadline(-1s).at_ns(), now_ns());
  EXPECT_LE(deadline(std::chrono::nanoseconds::min()).at_ns(), now_ns());
  EXPECT_LE(deadline(std::chrono::hours::min()).at_ns(), now_ns());
  EXPECT_LE(deadline(std::chrono::steady_clock::time_point::min()).at_ns(), now_ns());
}

TEST(deadline, too_large_for_the_clock_is_never) {
  EXPECT_EQ(deadline(std::chrono::nanoseconds::max()).at_ns(), never_ns);
  EXPECT_EQ(deadline(std::chrono::hours::max()).at_ns(), never_ns);
  EXPECT_EQ(deadline(std::chrono::duration<double>(std::numeric_limits<double>::max())).at_ns(),
            never_ns);
  EXPECT_EQ(deadline(std::chrono::steady_clock::time_point::max()).at_ns(), never_ns);
}

TEST(cycle_count, advances_at_a_known_rate) {
  const std::uint64_t start = cycle_count();
  const std::uint64_t start_ns = now_ns();
  while (now_ns() - start_ns < 1'000'000) {
  }
  const double us =
      static_cast<double>(cycle_count() - start) / static_cast<double>(cycles_per_us());
  // Loose: the rate is that of a counter, but the looks at the two clocks may be interrupted
  // between.
  EXPECT_GT(us, 900);
}

}  // namespace
}  // namespace heddle
