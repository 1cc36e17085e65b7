#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <heddle/base/clock.hpp>
#include <heddle/time/timer_wheel.hpp>

namespace {

using heddle::never_ns;
using heddle::timer;
using heddle::timer_wheel;

constexpr std::uint64_t tick_ns = timer_wheel::tick_ns;
constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr std::uint64_t last_ns = never_ns - 1;

// By construction nothing allocates: a wheel has nothing to free.
static_assert(std::is_trivially_destructible_v<timer_wheel>);

/// When a wheel that is advanced often enough fires a timer.
std::uint64_t rounded_up(std::uint64_t deadline_ns) {
  const std::uint64_t rest = deadline_ns % tick_ns;
  if (rest == 0) return deadline_ns;
  return deadline_ns > last_ns - (tick_ns - rest) ? last_ns : deadline_ns + (tick_ns - rest);
}

std::size_t advance(timer_wheel& wheel, std::uint64_t now_ns) {
  return wheel.advance(now_ns, [](timer&) {});
}

/// Advances a wheel exactly when it asks for it, and expects the one timer at its own time.
void expect_fired_in_time(std::uint64_t now_ns, std::uint64_t deadline_ns) {
  timer_wheel wheel(now_ns);
  timer one;
  wheel.insert(one, deadline_ns);
  const bool overdue = deadline_ns <= now_ns;
  EXPECT_EQ(wheel.next_deadline_ns(), overdue ? 0 : rounded_up(deadline_ns));  // alone: exactly
  EXPECT_TRUE(overdue || advance(wheel, deadline_ns - 1) == 0) << now_ns << ' ' << deadline_ns;
  EXPECT_EQ(advance(wheel, wheel.next_deadline_ns()), 1U) << now_ns << ' ' << deadline_ns;
  EXPECT_EQ(wheel.next_deadline_ns(), never_ns);
}

TEST(timer_wheel, fires_at_the_first_tick_that_is_not_before_the_deadline) {
  timer_wheel wheel(0);
  timer one;
  wheel.insert(one, 3 * tick_ns + 1);
  EXPECT_EQ(advance(wheel, 4 * tick_ns - 1), 0U);
  EXPECT_EQ(advance(wheel, 4 * tick_ns), 1U);
}

TEST(timer_wheel, fires_in_time_at_the_edges_of_the_clock_and_of_every_level) {
  std::vector<std::uint64_t> edges{0, 1, last_ns, never_ns - tick_ns, never_ns - tick_ns + 1};
  for (int bit = 0; bit != 64; ++bit)
    for (std::uint64_t offset :
         {std::uint64_t{0}, std::uint64_t{1}, never_ns})  // the last: minus 1
      edges.push_back((std::uint64_t{1} << bit) + offset);
  for (std::uint64_t now_ns : edges)
    for (std::uint64_t deadline_ns : edges) expect_fired_in_time(now_ns, deadline_ns);
}

TEST(timer_wheel, takes_never_for_the_last_time_there_is) {
  timer_wheel wheel(last_ns - 1);
  timer one;
  for (int repeat = 0; repeat != 2; ++repeat) {
    wheel.insert(one, never_ns);
    EXPECT_EQ(advance(wheel, never_ns), 1U);
  }
}

TEST(timer_wheel, fires_a_deadline_of_now_or_before_at_the_next_advance_even_of_the_same_time) {
  constexpr std::uint64_t now_ns = 5 * second_ns + 77;
  for (std::uint64_t deadline_ns : {now_ns, now_ns - 1, std::uint64_t{0}}) {
    timer_wheel wheel(now_ns);
    timer one;
    wheel.insert(one, deadline_ns);
    EXPECT_EQ(advance(wheel, now_ns), 1U);
  }
}

TEST(timer_wheel, ignores_time_that_goes_backwards) {
  timer_wheel wheel(10 * second_ns);
  timer one;
  EXPECT_EQ(advance(wheel, 1), 0U);
  wheel.insert(one, 11 * second_ns);
  EXPECT_EQ(advance(wheel, 2), 0U);
  EXPECT_EQ(advance(wheel, 11 * second_ns + tick_ns), 1U);
}

TEST(timer_wheel, removes_at_once_and_an_unarmed_timer_without_effect) {
  timer_wheel wheel(0);
  timer one;
  EXPECT_FALSE(wheel.remove(one));
  wheel.insert(one, second_ns);
  EXPECT_TRUE(wheel.remove(one));
  EXPECT_FALSE(wheel.remove(one));
  EXPECT_EQ(wheel.next_deadline_ns(), never_ns);
}

TEST(timer_wheel, removes_the_chosen_of_all_timers_the_overdue_included) {
  timer_wheel wheel(1);
  timer timers[64];
  for (std::size_t i = 0; i != 64; ++i) wheel.insert(timers[i], std::uint64_t{1} << i);
  std::size_t removed = 0;
  wheel.remove_if([&](const timer& one) { return (&one - timers) % 3 == 0; },
                  [&](timer& one) { removed += !one.armed(); });
  EXPECT_EQ(removed, 22U);
  EXPECT_EQ(wheel.next_deadline_ns(), tick_ns);
  EXPECT_EQ(advance(wheel, never_ns), 42U);
}

TEST(timer_wheel, fires_in_order_of_ticks_and_of_insertion_within_one_across_a_huge_gap) {
  timer_wheel wheel(0);
  const auto timers = std::make_unique<timer[]>(64 * 3);
  // Each deadline thrice; between the rounds the wheel moves on, so that the levels differ.
  for (std::size_t round = 0; round != 3; ++round) {
    for (std::size_t i = 0; i != 64; ++i)
      wheel.insert(timers[round * 64 + i], (std::uint64_t{1} << 32) + i * 37 % 64 * tick_ns);
    advance(wheel, (round + 1) * second_ns);
  }
  std::vector<timer*> fired;
  wheel.advance(1'000'000'000 * second_ns, [&](timer& one) { fired.push_back(&one); });
  EXPECT_EQ(fired.size(), 64U * 3);
  EXPECT_TRUE(std::is_sorted(fired.begin(), fired.end(), [](timer* left, timer* right) {
    return left->deadline_ns != right->deadline_ns ? left->deadline_ns < right->deadline_ns
                                                   : left < right;
  }));
}

TEST(timer_wheel, handles_no_more_timers_in_one_call_than_it_may_and_loses_none) {
  std::mt19937_64 random(5);
  for (std::size_t most : {1U, 2U, 7U}) {
    timer_wheel wheel(0);
    const auto timers = std::make_unique<timer[]>(400);
    std::vector<timer*> expected;
    std::vector<timer*> fired;
    std::uint64_t now_ns = 0;
    for (std::size_t i = 0; i != 400; ++i) {
      // Far ahead, so that slots are spread; some at once, while older ones wait to be fired.
      wheel.insert(timers[i], now_ns + random() % (i % 3 == 0 ? 100 : 100'000) * tick_ns);
      if (i % 5 == 0) wheel.remove(timers[random() % (i + 1)]);
      if (i % 40 == 39) now_ns += 70'000 * tick_ns;
      const std::size_t before = fired.size();
      const auto note = [&](timer& one) { fired.push_back(&one); };
      const std::size_t handled = wheel.advance(now_ns, note, most);
      EXPECT_EQ(handled, fired.size() - before);
      EXPECT_LE(fired.size() - before, most);
    }
    const std::size_t early = fired.size();
    for (std::size_t i = 0; i != 400; ++i)
      if (timers[i].armed()) expected.push_back(&timers[i]);
    while (wheel.next_deadline_ns() != never_ns) {
      wheel.advance(
          last_ns, [&](timer& one) { fired.push_back(&one); }, most);
    }
    fired.erase(fired.begin(), fired.begin() + static_cast<std::ptrdiff_t>(early));
    EXPECT_EQ(std::set<timer*>(fired.begin(), fired.end()),
              std::set<timer*>(expected.begin(), expected.end()));
    EXPECT_EQ(fired.size(), expected.size());
    EXPECT_EQ(wheel.size(), 0U);
  }
}

TEST(timer_wheel, lets_a_callback_insert_again_without_an_endless_advance) {
  timer_wheel wheel(0);
  timer one;
  constexpr std::uint64_t now_ns = 100 * tick_ns;
  for (std::uint64_t deadline_ns : {std::uint64_t{0}, tick_ns, now_ns}) {
    wheel.insert(one, 50 * tick_ns);
    const auto again = [&](timer& self) { wheel.insert(self, deadline_ns); };
    EXPECT_EQ(wheel.advance(now_ns, again), 1U);
    EXPECT_EQ(wheel.advance(now_ns, again), 1U);
    EXPECT_EQ(wheel.next_deadline_ns(), 0U);
    EXPECT_TRUE(wheel.remove(one));
  }
}

TEST(timer_wheel, lets_a_callback_remove_timers_of_the_same_advance_and_destroy_its_own) {
  // Overdue, of one tick, of a later tick, and of a higher level: one of each fires, whichever.
  for (std::uint64_t deadline_ns : {std::uint64_t{1}, tick_ns, 40 * tick_ns, 5000 * tick_ns}) {
    timer_wheel wheel(1);
    auto left = std::make_unique<timer>();
    auto right = std::make_unique<timer>();
    wheel.insert(*left, deadline_ns);
    wheel.insert(*right, deadline_ns + (deadline_ns > tick_ns ? tick_ns : 0));
    EXPECT_EQ(wheel.advance(second_ns,
                            [&](timer&) {
                              left.reset();
                              EXPECT_TRUE(wheel.remove(*right));
                            }),
              1U);
    EXPECT_EQ(wheel.next_deadline_ns(), never_ns);
  }
}

TEST(timer_wheel, wakes_early_at_most_once_a_level) {
  std::mt19937_64 random(3);
  for (int repeat = 0; repeat != 2000; ++repeat) {
    const std::uint64_t start_ns = random() >> 1;
    timer_wheel wheel(start_ns);
    timer pair[2];  // a lone timer has no early wake-up at all
    for (timer& one : pair) wheel.insert(one, start_ns + (random() >> (1 + repeat % 50)));
    std::size_t advances = 0;
    for (; wheel.size() != 0; ++advances) advance(wheel, wheel.next_deadline_ns());
    EXPECT_LE(advances, 2 * timer_wheel::levels);
  }
}

TEST(timer_wheel, is_empty_after_a_million_timers_were_armed_and_cancelled) {
  constexpr std::size_t count = 1'000'000;
  timer_wheel wheel(0);
  const auto timers = std::make_unique<timer[]>(count);
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i != count; ++i) wheel.insert(timers[i], random() >> (i % 64));
  EXPECT_EQ(wheel.size(), count);
  for (std::size_t i = 0; i != count; ++i) wheel.remove(timers[i * 7919 % count]);
  EXPECT_EQ(wheel.size(), 0U);
  EXPECT_EQ(wheel.next_deadline_ns(), never_ns);
}

TEST(timer_wheel, stays_empty_through_five_million_cancelled_time_outs) {
  timer_wheel wheel(0);
  timer one;
  for (std::uint64_t now_ns = 0; now_ns != 5'000'000; ++now_ns) {
    wheel.insert(one, now_ns + 5 * second_ns);
    wheel.remove(one);
  }
  EXPECT_EQ(wheel.next_deadline_ns(), never_ns);
}

/// A wheel beside a std::multimap that says what it has to do.
class checked_wheel {
 public:
  /// Times between operations are below 2^`scale_bits` ns.
  checked_wheel(std::uint64_t seed, int scale_bits)
      : random_(seed),
        scale_bits_(scale_bits),
        now_ns_(random_() >> (random_() % 64)),
        wheel_(now_ns_) {}
  ~checked_wheel() {
    for (timer& one : timers_) wheel_.remove(one);
  }

  void step() {
    timer& one = timers_[random_() % std::size(timers_)];
    switch (random_() % 8) {
      case 0:
        return advance(now_ns_ + std::min(last_ns - now_ns_, some_time_ns()));
      case 1:
        if (wheel_.next_deadline_ns() != never_ns) advance(wheel_.next_deadline_ns());
        return;
      default:
        EXPECT_EQ(wheel_.remove(one), forget(one));
        if (random_() % 2) insert(one);
    }
    check();
  }

 private:
  std::uint64_t some_time_ns() {
    return (random_() >> (64 - scale_bits_)) >> (random_() % static_cast<unsigned>(scale_bits_));
  }

  void insert(timer& one) {
    const std::uint64_t apart_ns = some_time_ns();
    const bool past = random_() % 16 == 0;
    const std::uint64_t deadline_ns = past ? now_ns_ - std::min(now_ns_, apart_ns)
                                           : now_ns_ + std::min(last_ns - now_ns_, apart_ns);
    wheel_.insert(one, deadline_ns);
    model_.emplace(deadline_ns <= now_ns_ ? 0 : rounded_up(deadline_ns), &one);
  }

  bool forget(const timer& one) {
    return std::erase_if(model_, [&](const auto& entry) { return entry.second == &one; }) != 0;
  }

  void advance(std::uint64_t now_ns) {
    now_ns_ = std::max(now_ns_, now_ns);
    // A copy: what the callback inserts is not due before the next advance.
    std::multimap<std::uint64_t, timer*> due(model_.begin(), model_.upper_bound(now_ns_));
    wheel_.advance(now_ns, [&](timer& fired) {
      EXPECT_FALSE(fired.armed());
      EXPECT_LE(fired.deadline_ns, now_ns_);
      ASSERT_FALSE(due.empty());
      EXPECT_EQ(due.begin()->second, &fired);  // equal keys stand in the order of insertion
      due.erase(due.begin());
      EXPECT_TRUE(due.empty() || wheel_.next_deadline_ns() <= now_ns_);
      EXPECT_TRUE(forget(fired));
      timer& other = timers_[random_() % std::size(timers_)];
      if (random_() % 4 == 0 && wheel_.remove(other)) {
        EXPECT_TRUE(forget(other));
        std::erase_if(due, [&](const auto& entry) { return entry.second == &other; });
      }
      if (!other.armed() && random_() % 2) insert(other);
    });
    EXPECT_TRUE(due.empty());
    check();
  }

  void check() const {
    ASSERT_EQ(wheel_.size(), model_.size());
    const std::uint64_t next_ns = wheel_.next_deadline_ns();
    const std::uint64_t due_ns = model_.empty() ? never_ns : model_.begin()->first;
    EXPECT_LE(next_ns, due_ns);
    EXPECT_EQ(next_ns == never_ns, model_.empty());
    EXPECT_EQ(next_ns > now_ns_, due_ns > now_ns_);  // no reason to spin
  }

  std::mt19937_64 random_;
  int scale_bits_;
  std::uint64_t now_ns_;
  timer timers_[24];
  timer_wheel wheel_;
  std::multimap<std::uint64_t, timer*> model_;
};

TEST(timer_wheel, does_what_a_sorted_map_does_at_time_scales_from_nanoseconds_to_centuries) {
  for (int scale_bits = 1; scale_bits != 64 && !::testing::Test::HasFailure(); ++scale_bits)
    for (std::uint64_t seed = 0; seed != 40 && !::testing::Test::HasFailure(); ++seed) {
      SCOPED_TRACE(::testing::Message() << "scale " << scale_bits << " bits, seed " << seed);
      checked_wheel wheel(seed * 64 + static_cast<std::uint64_t>(scale_bits), scale_bits);
      for (int i = 0; i != 400; ++i) wheel.step();
    }
}

}  // namespace
