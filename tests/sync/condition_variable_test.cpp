#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "on_runtime.hpp"
#include <heddle/sync/condition_variable.hpp>
#include <heddle/sync/mutex.hpp>
#include <heddle/time/sleep.hpp>

namespace {

using namespace std::chrono_literals;
using std::cv_status;
using std::chrono::microseconds;
using std::chrono::steady_clock;
using lock_type = std::unique_lock<heddle::mutex>;

class condition_variable : public on_runtime {};
HEDDLE_ON_RUNTIMES(condition_variable, 1, 2, 4);

/// Here the order in which fibers run is known.
class condition_variable_on_one_worker : public on_runtime {};
HEDDLE_ON_RUNTIMES(condition_variable_on_one_worker, 1);

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

TEST_P(condition_variable, timed_wait_ends_at_its_deadline_and_not_before) {
  run([&] {
    heddle::mutex lock;
    heddle::condition_variable never;
    const auto attempt = [&] {
      lock_type guard(lock);
      const auto before = steady_clock::now();
      EXPECT_EQ(never.wait_for(guard, 2ms), cv_status::timeout);
      EXPECT_GE(steady_clock::now() - before, 2ms);
      EXPECT_EQ(never.wait_until(guard, steady_clock::now() + 1ms), cv_status::timeout);
      EXPECT_FALSE(never.wait_for(guard, 1ms, [] { return false; }));
      EXPECT_TRUE(guard.owns_lock());
      EXPECT_FALSE(lock.try_lock());
    };
    heddle::spawn(attempt).join();
    std::thread(attempt).join();
  });
}

TEST_P(condition_variable, a_passed_deadline_neither_suspends_nor_unlocks) {
  run([&] {
    heddle::mutex lock;
    heddle::condition_variable never;
    lock_type guard(lock);
    const heddle::worker_counters& counters = heddle::current_worker()->counters();
    const std::uint64_t switches = counters.fibers_run.load();
    const std::uint64_t timers = counters.timers_armed.load();
    EXPECT_EQ(never.wait_for(guard, 0ns), cv_status::timeout);
    EXPECT_EQ(never.wait_for(guard, -1ns), cv_status::timeout);
    EXPECT_EQ(never.wait_for(guard, std::chrono::nanoseconds::min()), cv_status::timeout);
    EXPECT_EQ(never.wait_for(guard, std::chrono::hours::min()), cv_status::timeout);
    EXPECT_EQ(never.wait_until(guard, steady_clock::time_point::min()), cv_status::timeout);
    EXPECT_EQ(never.wait_until(guard, steady_clock::now()), cv_status::timeout);
    EXPECT_FALSE(never.wait_for(guard, 0ns, [] { return false; }));
    EXPECT_TRUE(never.wait_for(guard, 0ns, [] { return true; }));
    EXPECT_EQ(counters.fibers_run.load(), switches);
    EXPECT_EQ(counters.timers_armed.load(), timers);
  });
}

TEST_P(condition_variable, a_huge_deadline_waits_for_the_notification) {
  run([&] {
    heddle::mutex lock;
    heddle::condition_variable changed;
    const auto attempt = [&](heddle::deadline deadline) {
      lock_type guard(lock);
      auto notifier = heddle::spawn([&] {
        std::lock_guard wait_for_the_waiter(lock);
        changed.notify_one();
      });
      EXPECT_EQ(changed.wait_until(guard, deadline), cv_status::no_timeout);
      guard.unlock();
      notifier.join();
    };
    attempt(std::chrono::nanoseconds::max());
    attempt(std::chrono::hours::max());
    attempt(std::chrono::duration<double>(1e300));
    attempt(steady_clock::time_point::max());
    attempt(heddle::deadline::never());
  });
}

TEST_P(condition_variable, predicates_are_waited_for_until_one_deadline) {
  run([&] {
    heddle::mutex lock;
    heddle::condition_variable changed;
    bool ready = false;
    std::atomic<bool> done{false};
    // Notifies again and again: none of it may put the deadline off.
    auto nagging = heddle::spawn([&] {
      yield_until([&] {
        changed.notify_all();
        return done.load();
      });
    });
    {
      lock_type guard(lock);
      const auto before = steady_clock::now();
      EXPECT_FALSE(changed.wait_for(guard, 5ms, [&] { return ready; }));
      EXPECT_GE(steady_clock::now() - before, 5ms);
      auto setter = heddle::spawn([&] {
        std::lock_guard setting(lock);
        ready = true;
      });
      EXPECT_TRUE(changed.wait_for(guard, 1h, [&] { return ready; }));
      guard.unlock();
      setter.join();
    }
    done = true;
    nagging.join();
  });
}

// brpc#866
TEST_P(condition_variable, short_waits_without_a_notifier_all_time_out) {
  const int each = rounds(3'000, 1'000'000);
  std::atomic<std::int64_t> timed_out{0};
  run([&] {
    heddle::mutex lock;
    heddle::condition_variable never;
    auto fibers = spawn_many(8, [&](int index) {
      std::minstd_rand random(static_cast<unsigned>(index) + 1);
      for (int i = 0; i < each; ++i) {
        lock_type guard(lock);
        if (never.wait_for(guard, microseconds(random() % 51)) == cv_status::timeout)
          timed_out.fetch_add(1);
      }
    });
    join_all(fibers);
  });
  EXPECT_EQ(timed_out.load(), 8LL * each);
}

/// A short wait and, behind it, an endless one, for a single notification at about the time when
/// the short wait ends.
class rivals {
 public:
  enum class notifier { fiber_that_slept, fiber_that_was_busy, thread };

  /// One of the two waits gets the notification, whichever that is. True: the short one.
  bool play(microseconds short_wait, microseconds late, notifier by, bool under_mutex) {
    started_ = 0;
    short_notified_ = false;
    long_notified_ = false;
    auto first = heddle::spawn([&] {
      lock_type guard(lock_);
      ++started_;
      ends_ = steady_clock::now() + short_wait;
      short_notified_ = changed_.wait_until(guard, ends_) == cv_status::no_timeout;
    });
    auto second = heddle::spawn([&] {
      lock_type guard(lock_);
      ++started_;
      changed_.wait(guard);
      long_notified_ = true;
    });
    steady_clock::time_point at;
    yield_until([&] {
      std::lock_guard guard(lock_);
      at = ends_ + late;
      return started_ == 2;
    });
    if (by == notifier::thread) {
      std::thread([&] { notify_at(at, under_mutex); }).join();
    } else {
      if (by == notifier::fiber_that_slept) heddle::sleep_until(at).value();
      notify_at(at, under_mutex);
    }
    first.join();
    if (short_notified_) {
      {
        std::lock_guard guard(lock_);
        EXPECT_FALSE(long_notified_);
      }
      changed_.notify_one();
    }
    second.join();  // waits for ever if the notification went to the one whose time was over
    EXPECT_TRUE(long_notified_);
    return short_notified_;
  }

 private:
  void notify_at(steady_clock::time_point at, bool under_mutex) {
    lock_type guard(lock_, std::defer_lock);
    while (steady_clock::now() < at) work(1);
    if (under_mutex) guard.lock();
    changed_.notify_one();
  }

  heddle::mutex lock_;
  heddle::condition_variable changed_;
  int started_ = 0;
  steady_clock::time_point ends_;
  bool short_notified_ = false;
  bool long_notified_ = false;
};

TEST_P(condition_variable, a_notification_is_never_lost_to_a_wait_that_times_out) {
  const int each = rounds(5'000, 500'000);
  int short_ones = 0;
  run([&] {
    rivals pair;
    std::minstd_rand random(1);
    for (int i = 0; i < each; ++i) {
      const auto by = i % 64 == 0  ? rivals::notifier::thread
                      : i % 2 == 0 ? rivals::notifier::fiber_that_slept
                                   : rivals::notifier::fiber_that_was_busy;
      const microseconds late = microseconds(random() % 40) - 20us;
      if (pair.play(microseconds(20 + random() % 40), late, by, i % 4 < 2)) ++short_ones;
    }
  });
  // Both outcomes were met, or the race was none.
  EXPECT_GT(short_ones, 0);
  EXPECT_LT(short_ones, each);
}

// marl#71
TEST_P(condition_variable, a_wait_against_a_notification_at_its_deadline_ends_once) {
  const int each = rounds(100, 5'000);
  constexpr int pairs = 64;
  std::atomic<std::int64_t> notified{0};
  std::atomic<std::int64_t> timed_out{0};
  run([&] {
    auto fibers = spawn_many(pairs, [&](int index) {
      heddle::mutex lock;
      heddle::condition_variable changed;
      int notifications = 0;
      int waits = 0;
      std::minstd_rand random(static_cast<unsigned>(index) + 1);
      for (int i = 0; i < each; ++i) {
        lock_type guard(lock);
        const auto jitter = microseconds(random() % 100);
        auto notifier = heddle::spawn([&, jitter] {
          heddle::sleep_for(950us + jitter).value();
          std::lock_guard notifying(lock);
          ++notifications;
          changed.notify_one();
        });
        const auto before = steady_clock::now();
        if (changed.wait_for(guard, 1ms) == cv_status::no_timeout) {
          EXPECT_EQ(notifications, i + 1);
          notified.fetch_add(1);
        } else {
          EXPECT_GE(steady_clock::now() - before, 1ms);
          timed_out.fetch_add(1);
        }
        ++waits;
        guard.unlock();
        notifier.join();
      }
      EXPECT_EQ(waits, each);
    });
    join_all(fibers);
  });
  EXPECT_EQ(notified.load() + timed_out.load(), std::int64_t{pairs} * each);
}

/// A request with its condition variable on the waiter's stack.
struct request {
  heddle::condition_variable served;
  bool done = false;
};

/// Serves the requests that are left in `next`, notifying under the mutex, until it is told to end.
class server {
 public:
  void serve(int count) {
    for (int i = 0; i < count; ++i) {
      lock_type guard(lock_);
      asked_.wait(guard, [&] { return next_ != nullptr; });
      request& served = *std::exchange(next_, nullptr);
      served.done = true;
      if (i % 2 == 0)
        served.served.notify_one();
      else
        served.served.notify_all();
    }
  }

  void ask(int count) {
    for (int i = 0; i < count; ++i) {
      lock_type guard(lock_);
      request own;
      next_ = &own;
      asked_.notify_one();
      if (i % 3 == 0)
        EXPECT_TRUE(own.served.wait_for(guard, 1h, [&] { return own.done; }));
      else
        own.served.wait(guard, [&] { return own.done; });
    }  // the condition variable ends before the guard, under the mutex
  }

 private:
  heddle::mutex lock_;
  heddle::condition_variable asked_;
  request* next_ = nullptr;
};

// boost fiber#194
TEST_P(condition_variable, may_live_on_the_stack_of_the_fiber_that_waits) {
  const int each = rounds(20'000, 1'000'000);
  server one;
  run([&] {
    auto serving = heddle::spawn([&] { one.serve(each); });
    one.ask(each);
    serving.join();
  });
}

TEST_P(condition_variable, may_live_on_the_stack_of_a_fiber_that_a_thread_notifies) {
  const int each = rounds(2'000, 200'000);
  server one;
  std::thread serving([&] { one.serve(each); });
  run([&] { one.ask(each); });
  serving.join();
}

TEST_P(condition_variable, may_live_on_the_stack_of_a_thread_that_a_fiber_notifies) {
  const int each = rounds(2'000, 200'000);
  server one;
  std::thread asking([&] { one.ask(each); });
  run([&] { one.serve(each); });
  asking.join();
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
