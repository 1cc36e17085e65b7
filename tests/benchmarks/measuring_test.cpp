#include <csignal>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <sys/time.h>

#include "../../benchmarks/process.hpp"
#include "counting.hpp"
#include "cycles.hpp"
#include "histogram.hpp"
#include "items.hpp"
#include "rules.hpp"

namespace heddle::bench {
namespace {

const workload_rule& rule_of(const std::array<workload_rule, 11>& rules, workload what) {
  for (const workload_rule& rule : rules)
    if (rule.what == what) return rule;
  throw std::logic_error("no such rule");
}

unsigned most(const queue_traits& traits, workload what) {
  return rule_of(rules_of(traits, false), what).most_threads;
}

TEST(histogram, quantiles_are_within_a_bucket_of_the_samples) {
  histogram times;
  for (int ns = 1; ns <= 100'000; ++ns) times.add(ns);
  for (const double quantile : {0.01, 0.5, 0.9, 0.99, 0.999}) {
    EXPECT_NEAR(times.quantile_ns(quantile).value(), 100'000 * quantile,
                100'000 * quantile * 0.016);
  }
  EXPECT_EQ(times.max_ns(), 100'000);
  EXPECT_EQ(times.samples(), 100'000u);
}

TEST(histogram, a_quantile_with_fewer_than_ten_samples_beyond_is_missing) {
  histogram times;
  for (int sample = 0; sample < 1'000; ++sample) times.add(5);
  EXPECT_EQ(times.quantile_ns(0.99), 5);
  EXPECT_FALSE(times.quantile_ns(0.999));
  EXPECT_FALSE(histogram().quantile_ns(0.5));
}

TEST(histogram, buckets_add_up_and_their_middles_ascend) {
  histogram one, other;
  for (double ns = 0; ns < 1e12; ns = ns * 1.37 + 0.1) {
    one.add(ns);
    other.add(ns / 3);
  }
  const std::uint64_t samples = one.samples() + other.samples();
  one.add(other);
  EXPECT_EQ(one.samples(), samples);
  std::uint64_t sum = 0;
  double last_ns = -1;
  for (const auto& [ns, count] : one.buckets()) {
    EXPECT_GT(ns, last_ns);
    last_ns = ns;
    sum += count;
  }
  EXPECT_EQ(sum, samples);
}

TEST(histogram, short_times_are_kept_to_a_tenth_of_a_nanosecond) {
  histogram times;
  times.add(0.4);
  times.add(6.3);
  ASSERT_EQ(times.buckets().size(), 2u);
  EXPECT_DOUBLE_EQ(times.buckets()[0].first, 0.4);
  EXPECT_DOUBLE_EQ(times.buckets()[1].first, 6.3);
}

TEST(counting, each_thread_counts_its_own_failed_exchanges) {
  counting::atomic<int> word{1};
  obstacles::mine() = {};
  int expected = 0;
  EXPECT_FALSE(word.compare_exchange_strong(expected, 2, std::memory_order_relaxed,
                                            std::memory_order_relaxed));
  EXPECT_EQ(expected, 1);
  EXPECT_TRUE(word.compare_exchange_strong(expected, 2, std::memory_order_relaxed,
                                           std::memory_order_relaxed));
  expected = 0;
  EXPECT_FALSE(word.compare_exchange_weak(expected, 3, std::memory_order_relaxed,
                                          std::memory_order_relaxed));
  EXPECT_EQ(obstacles::mine().failed_compare_exchanges, 2u);
  std::thread([] { EXPECT_EQ(obstacles::mine().failed_compare_exchanges, 0u); }).join();
}

TEST(counting, a_lock_that_was_held_is_counted) {
  counting::mutex lock;
  lock.lock();
  lock.unlock();
  std::thread([&] {
    lock.lock();
    EXPECT_EQ(obstacles::mine().contended_locks, 0u);
    std::thread holder([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      lock.unlock();
    });
    lock.lock();
    EXPECT_EQ(obstacles::mine().contended_locks, 1u);
    lock.unlock();
    holder.join();
  }).join();
}

TEST(items, every_item_is_with_one_holder_and_comes_back) {
  item_depot depot(200);  // four batches
  item_stash one(depot);
  item_stash other(depot);
  std::set<item*> taken;
  while (item* next = one.take()) EXPECT_TRUE(taken.insert(next).second);
  EXPECT_EQ(taken.size(), 256u);
  EXPECT_EQ(other.take(), nullptr);
  for (item* returned : taken) other.put(returned);
  std::size_t again = 0;
  while (one.take() != nullptr) ++again;  // what the other does not keep in its stash
  EXPECT_EQ(again, 256 - item_stash::most_items);
}

TEST(cycles, a_think_time_takes_about_as_long_as_asked) {
  const cycle_clock clock;
  EXPECT_GT(clock.timer_cost_cycles(), 0u);
  EXPECT_EQ(thinker(clock, 0).measured_ns() < 10, true);
  for (const double asked_ns : {100.0, 500.0, 2000.0}) {
    EXPECT_NEAR(thinker(clock, asked_ns).measured_ns(), asked_ns, asked_ns * 0.5) << asked_ns;
  }
}

/// While one lives, its thread is interrupted for 100 us, 30 us after the last time.
class interruptions {
 public:
  interruptions() {
    std::signal(SIGALRM, [](int) {
      const std::uint64_t start_ns = now_ns();
      while (now_ns() - start_ns < 100'000) continue;
      again_in_us(30);
    });
    again_in_us(30);
  }
  ~interruptions() {
    std::signal(SIGALRM, SIG_IGN);
    again_in_us(0);
    std::signal(SIGALRM, SIG_DFL);
  }
  interruptions(const interruptions&) = delete;
  interruptions& operator=(const interruptions&) = delete;

 private:
  static void again_in_us(suseconds_t us) {
    const itimerval timer{{0, 0}, {0, us}};
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
};

TEST(cycles, a_think_time_is_the_same_on_a_processor_that_others_use_too) {
  const cycle_clock clock;
  const auto interrupted = [&] {
    const interruptions others;
    return thinker(clock, 2000);
  }();
  EXPECT_NEAR(interrupted.measured_ns(), 2000, 200);
}

TEST(process, allocated_bytes_follow_an_allocation) {
  const std::uint64_t before = allocated_bytes();
  const std::vector<char> block(1'000'000);
  EXPECT_NEAR(static_cast<double>(allocated_bytes() - before), 1e6, 1e4);
  EXPECT_GT(status_kib("VmHWM"), 1'000u);
  EXPECT_EQ(status_kib("Nonsense"), 0u);
}

TEST(rules, any_thread_may_do_everything_to_an_unbounded_queue_but_fill_it) {
  const queue_traits traits{};
  for (const workload_rule& rule : rules_of(traits, false)) {
    EXPECT_EQ(rule.applies(), rule.what != workload::nearly_full) << rule.name;
  }
  EXPECT_TRUE(rule_of(rules_of(traits, false), workload::three_to_one).allows(8));
  EXPECT_FALSE(rule_of(rules_of(traits, false), workload::three_to_one).allows(6));
}

TEST(rules, only_the_owner_of_a_ring_pushes_and_everybody_takes) {
  const queue_traits traits{.push = role::owner, .bounded = true};
  EXPECT_EQ(most(traits, workload::pairwise), 1u);
  EXPECT_EQ(most(traits, workload::one_to_one), 2u);
  EXPECT_EQ(most(traits, workload::one_to_many), most_threads);
  EXPECT_EQ(most(traits, workload::many_to_one), 0u);
  EXPECT_EQ(most(traits, workload::nearly_full), 1u);
  EXPECT_EQ(most(traits, workload::owner_thieves), most_threads);
}

TEST(rules, thieves_stand_in_for_consumers_of_a_deque) {
  const queue_traits traits{.push = role::owner, .pop = role::owner};
  EXPECT_EQ(most(traits, workload::one_to_many), most_threads);
  EXPECT_EQ(most(traits, workload::ping_pong), 2u);
  const queue_traits hiding{.push = role::owner, .pop = role::owner, .every_item_stealable = false};
  EXPECT_EQ(most(hiding, workload::ping_pong), 0u);
  EXPECT_EQ(most(hiding, workload::owner_thieves), most_threads);
}

TEST(rules, one_thread_empties_an_inbox) {
  const queue_traits traits{.pop = role::one, .steal = role::none};
  EXPECT_EQ(most(traits, workload::pairwise), 1u);
  EXPECT_EQ(most(traits, workload::one_to_one), 2u);
  EXPECT_EQ(most(traits, workload::one_to_many), 0u);
  EXPECT_EQ(most(traits, workload::many_to_one), most_threads);
  EXPECT_EQ(most(traits, workload::three_to_one), 4u);
  EXPECT_EQ(most(traits, workload::ping_pong), 2u);
  EXPECT_EQ(most(traits, workload::owner_thieves), 1u);
}

TEST(rules, a_queue_that_is_full_below_its_capacity_is_not_run_nearly_full) {
  EXPECT_EQ(most({.bounded = true}, workload::nearly_full), most_threads);
  EXPECT_EQ(most({.bounded = true, .exact_capacity = false}, workload::nearly_full), 0u);
}

TEST(rules, the_counter_carries_nothing) {
  const auto rules = rules_of(queue_traits{}, true);
  EXPECT_TRUE(rule_of(rules, workload::pairwise).applies());
  EXPECT_TRUE(rule_of(rules, workload::empty_pop).applies());
  EXPECT_FALSE(rule_of(rules, workload::ping_pong).applies());
  EXPECT_FALSE(rule_of(rules, workload::owner_thieves).applies());
}

}  // namespace
}  // namespace heddle::bench
