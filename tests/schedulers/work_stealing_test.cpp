#include <array>
#include <optional>

#include <gtest/gtest.h>

#include <heddle/base/counters.hpp>
#include <heddle/base/platform.hpp>
#include <heddle/queues/block_stealing.hpp>
#include <heddle/queues/bounded_spmc.hpp>
#include <heddle/queues/chase_lev.hpp>
#include <heddle/schedulers/work_stealing.hpp>

namespace heddle {
namespace {

struct item : queue_hook {};

/// Two workers that take turns on one thread.
template <class Queue>
struct pair_of_workers {
  using scheduler_type = typename work_stealing<Queue>::template type<queue_hook*, native>;

  queue_hook* pop(typename scheduler_type::local& self) { return scheduler.pop(self).item; }
  queue_hook* search(typename scheduler_type::local& self) {
    return scheduler.search(self, counters).item;
  }

  scheduler_type scheduler{2, tuning{}, {}};
  typename scheduler_type::local busy{scheduler, 0};
  typename scheduler_type::local idle{scheduler, 1};
  worker_counters counters;
  std::array<item, 256> items;
};

TEST(work_stealing, the_owner_of_a_deque_pops_the_newest_and_thieves_take_the_oldest) {
  pair_of_workers<chase_lev> pair;
  for (std::size_t at = 0; at < 4; ++at) pair.scheduler.push(&pair.items[at], pair.busy);
  EXPECT_EQ(pair.pop(pair.busy), &pair.items[3]);
  // Half of what is there, rounded up: the first to run at once, the other to the own deque.
  EXPECT_EQ(pair.search(pair.idle), &pair.items[0]);
  EXPECT_EQ(pair.pop(pair.idle), &pair.items[1]);
  EXPECT_EQ(pair.pop(pair.busy), &pair.items[2]);
  EXPECT_FALSE(pair.scheduler.maybe_nonempty());
}

TEST(work_stealing, what_yields_over_a_deque_waits_behind_what_was_there) {
  pair_of_workers<chase_lev> pair;
  pair.scheduler.push(&pair.items[0], pair.busy);
  pair.scheduler.push_last(&pair.items[1], pair.busy);
  pair.scheduler.push_last(&pair.items[2], pair.busy);
  EXPECT_TRUE(pair.scheduler.own_maybe_nonempty(pair.busy));
  EXPECT_EQ(pair.pop(pair.busy), &pair.items[0]);
  EXPECT_EQ(pair.pop(pair.busy), nullptr);
  EXPECT_TRUE(pair.scheduler.own_maybe_nonempty(pair.busy));
  EXPECT_EQ(pair.scheduler.pop_overflow(pair.busy).item, &pair.items[1]);
  EXPECT_EQ(pair.scheduler.pop_overflow(pair.busy).item, &pair.items[2]);
  EXPECT_FALSE(pair.scheduler.maybe_nonempty());
}

TEST(work_stealing, what_yields_over_a_fifo_goes_to_the_queue_itself) {
  pair_of_workers<bounded_spmc> pair;
  pair.scheduler.push(&pair.items[0], pair.busy);
  pair.scheduler.push_last(&pair.items[1], pair.busy);
  EXPECT_EQ(pair.pop(pair.busy), &pair.items[0]);
  EXPECT_EQ(pair.pop(pair.busy), &pair.items[1]);
}

TEST(work_stealing, the_oldest_of_a_deque_does_not_wait_for_ever) {
  pair_of_workers<chase_lev> pair;
  for (std::size_t at = 0; at < 3; ++at) pair.scheduler.push(&pair.items[at], pair.busy);
  EXPECT_EQ(pair.scheduler.pop_oldest(pair.busy).item, &pair.items[0]);
  EXPECT_EQ(pair.pop(pair.busy), &pair.items[2]);
}

/// Of what a worker keeps from thieves they may sleep beside it, but not without its knowing.
TEST(work_stealing, hidden_items_are_published_at_the_request_of_one_who_found_nothing_else) {
  pair_of_workers<block_stealing> pair;
  std::size_t left = pair.items.size();
  for (item& one : pair.items) ASSERT_TRUE(pair.scheduler.push(&one, pair.busy));
  ASSERT_EQ(pair.pop(pair.busy), &pair.items[0]);
  --left;
  EXPECT_FALSE(pair.scheduler.publish_on_request(pair.busy)) << "nobody has asked";

  const auto steal_all = [&] {
    while (pair.search(pair.idle)) {
      --left;
      while (pair.pop(pair.idle)) --left;
    }
  };
  steal_all();
  ASSERT_GT(left, 0u) << "the queue hides nothing";
  EXPECT_FALSE(pair.scheduler.others_maybe_nonempty(pair.idle));
  EXPECT_FALSE(pair.scheduler.maybe_nonempty(pair.idle)) << "the worker could never sleep";
  EXPECT_TRUE(pair.scheduler.maybe_nonempty());

  EXPECT_TRUE(pair.scheduler.publish_on_request(pair.busy));
  EXPECT_FALSE(pair.scheduler.publish_on_request(pair.busy)) << "the request was answered";
  EXPECT_TRUE(pair.scheduler.maybe_nonempty(pair.idle));
  steal_all();
  EXPECT_EQ(left, 0u);
  EXPECT_FALSE(pair.scheduler.maybe_nonempty());
}

TEST(work_stealing, a_push_beside_a_sleeper_publishes_what_is_hidden) {
  pair_of_workers<block_stealing> pair;
  for (item& one : pair.items) ASSERT_TRUE(pair.scheduler.push(&one, pair.busy));
  ASSERT_EQ(pair.pop(pair.busy), &pair.items[0]);
  pair.scheduler.publish(pair.busy);
  EXPECT_EQ(pair.search(pair.idle), &pair.items[1]);
}

}  // namespace
}  // namespace heddle
