#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "on_runtime.hpp"
#include <heddle/sync/condition_variable.hpp>
#include <heddle/sync/mutex.hpp>

namespace {

using namespace std::chrono_literals;
using std::cv_status;
using lock_type = std::unique_lock<heddle::mutex>;

class condition_variable : public on_runtime {};
INSTANTIATE_TEST_SUITE_P(workers, condition_variable, ::testing::Values(1U, 2U, 4U),
                         ::testing::PrintToStringParamName());

/// Here the order in which fibers run is known.
class condition_variable_on_one_worker : public on_runtime {};
INSTANTIATE_TEST_SUITE_P(workers, condition_variable_on_one_worker, ::testing::Values(1U),
                         ::testing::PrintToStringParamName());

/// Two sides that take turns by one condition variable each.
class turns {
 public:
  void play(bool side, int each) {
    for (int i = 0; i < each; ++i) {
      lock_type guard(lock_);
      changed_[side].wait(guard, [&] { return turn_ == side; });
      ++played_;
      turn_ = !side;
      changed_[!side].notify_one();
    }
  }
  int played() const { return played_; }

 private:
  heddle::mutex lock_;
  heddle::condition_variable changed_[2];
  bool turn_ = false;
  int played_ = 0;
};

TEST_P(condition_variable, lets_two_fibers_take_turns) {
  const int each = rounds(20'000, 1'000'000);
  turns game;
  run([&] {
    auto other = heddle::spawn([&] { game.play(true, each); });
    game.play(false, each);
    other.join();
  });
  EXPECT_EQ(game.played(), 2 * each);
}

TEST_P(condition_variable, lets_a_fiber_and_a_thread_take_turns) {
  const int each = rounds(3'000, 300'000);
  turns game;
  std::thread other([&] { game.play(true, each); });
  run([&] { game.play(false, each); });
  other.join();
  EXPECT_EQ(game.played(), 2 * each);
}

TEST_P(condition_variable, notify_all_wakes_every_waiter) {
  const int each = rounds(1'000, 100'000);
  constexpr int fibers = 16;
  constexpr int plain_threads = 2;
  heddle::mutex lock;
  heddle::condition_variable changed;
  heddle::condition_variable all_wait;
  int generation = 0;
  int waiting = 0;
  const auto waits = [&](int) {
    for (int i = 0; i < each; ++i) {
      lock_type guard(lock);
      const int seen = generation;
      if (++waiting == fibers + plain_threads) all_wait.notify_one();
      // Without a predicate: each return must be the notification of this generation.
      changed.wait(guard);
      EXPECT_EQ(generation, seen + 1);
    }
  };
  std::vector<std::thread> threads;
  run([&] {
    for (int i = 0; i < plain_threads; ++i) threads.emplace_back(waits, i);
    auto started = spawn_many(fibers, waits);
    for (int i = 0; i < each; ++i) {
      lock_type guard(lock);
      all_wait.wait(guard, [&] { return waiting == fibers + plain_threads; });
      waiting = 0;
      ++generation;
      if (i % 2 == 0) guard.unlock();
      changed.notify_all();
    }
    join_all(started);
  });
  for (std::thread& thread : threads) thread.join();
}

TEST_P(condition_variable_on_one_worker, notify_one_wakes_one_waiter_in_the_order_of_waiting) {
  run([&] {
    heddle::mutex lock;
    heddle::condition_variable changed;
    std::vector<int> came;
    std::vector<int> woken;
    changed.notify_one();  // kept for nobody
    changed.notify_all();
    auto fibers = spawn_many(10, [&](int index) {
      lock_type guard(lock);
      came.push_back(index);
      if (index % 2 == 0) {
        changed.wait(guard);
      } else {
        EXPECT_EQ(changed.wait_for(guard, 1h), cv_status::no_timeout);
      }
      woken.push_back(index);
    });
    yield_until([&] { return came.size() == 10; });  // now all of them wait
    for (std::size_t count = 1; count <= 10; ++count) {
      changed.notify_one();
      yield_until([&] { return woken.size() == count; });
      for (int i = 0; i < 3; ++i) heddle::this_fiber::yield();
      ASSERT_EQ(woken.size(), count);
    }
    join_all(fibers);
    EXPECT_EQ(woken, came);
  });
}

TEST_P(condition_variable, carries_a_bounded_queue_between_many_fibers_and_threads) {
  constexpr std::size_t capacity = 4;
  const int each = rounds(3'000, 300'000);
  heddle::mutex lock;
  heddle::condition_variable not_full;
  heddle::condition_variable not_empty;
  std::vector<int> items;
  std::int64_t sum = 0;
  const auto produce = [&](int) {
    for (int i = 1; i <= each; ++i) {
      lock_type guard(lock);
      not_full.wait(guard, [&] { return items.size() < capacity; });
      items.push_back(i);
      not_empty.notify_one();
    }
  };
  const auto consume = [&](int) {
    for (int i = 1; i <= each; ++i) {
      lock_type guard(lock);
      not_empty.wait(guard, [&] { return !items.empty(); });
      sum += items.back();
      items.pop_back();
      not_full.notify_one();
    }
  };
  std::vector<std::thread> threads;
  run([&] {
    threads.emplace_back(produce, 0);
    threads.emplace_back(consume, 0);
    auto producers = spawn_many(4, produce);
    auto consumers = spawn_many(4, consume);
    join_all(producers);
    join_all(consumers);
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(items.empty());
  EXPECT_EQ(sum, 5LL * each * (each + 1) / 2);
}

}  // namespace
