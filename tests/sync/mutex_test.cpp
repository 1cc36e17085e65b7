#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "on_runtime.hpp"
#include <heddle/sync/mutex.hpp>
#include <heddle/sync/semaphore.hpp>

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

class mutex : public on_runtime {};
HEDDLE_ON_RUNTIMES(mutex, 1, 2, 4);

/// Here the order in which fibers run is known.
class mutex_on_one_worker : public on_runtime {};
HEDDLE_ON_RUNTIMES(mutex_on_one_worker, 1);

/// Here fibers move.
class mutex_on_several_workers : public on_runtime {};
HEDDLE_ON_RUNTIMES(mutex_on_several_workers, 2, 4);

/// A mutex and a plain count that only its holder touches.
struct guarded_count {
  void increment() {
    EXPECT_FALSE(std::exchange(inside, true));
    ++count;
    inside = false;
  }

  heddle::mutex lock;
  bool inside = false;
  std::int64_t count = 0;
};

TEST_P(mutex, excludes_fibers_and_threads_from_each_other) {
  const int each = rounds(20'000, 1'000'000);
  guarded_count shared;
  const auto sections = [&](int) {
    for (int i = 0; i < each; ++i) {
      std::lock_guard guard(shared.lock);
      shared.increment();
    }
  };
  std::vector<std::thread> threads;
  run([&] {
    for (int i = 0; i < 2; ++i) threads.emplace_back(sections, i);
    auto fibers = spawn_many(16, sections);
    join_all(fibers);
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.count, 18LL * each);
}

TEST_P(mutex, may_be_held_across_a_yield) {
  const int each = rounds(500, 10'000);
  guarded_count shared;
  run([&] {
    auto fibers = spawn_many(100, [&](int index) {
      for (int i = 0; i < each; ++i) {
        std::lock_guard guard(shared.lock);
        EXPECT_FALSE(std::exchange(shared.inside, true));
        ++shared.count;
        if ((i + index) % 3 == 0) heddle::this_fiber::yield();
        shared.inside = false;
      }
    });
    join_all(fibers);
  });
  EXPECT_EQ(shared.count, 100LL * each);
}

TEST_P(mutex_on_several_workers, may_be_unlocked_on_another_thread_than_it_was_locked_on) {
  const int each = rounds(2'000, 100'000);
  heddle::semaphore asleep(0);
  heddle::semaphore awake(0);
  std::thread waker([&] {
    for (int i = 0; i < each; ++i) {
      asleep.acquire();
      awake.release();
    }
  });
  run([&] {
    heddle::mutex lock;
    int moves = 0;
    for (int i = 0; i < each; ++i) {
      lock.lock();
      const unsigned locked_by = heddle::current_worker()->index();
      // Occupies a worker, about as often this one as another, until the holder runs again.
      std::atomic<bool> again{false};
      auto occupant = heddle::spawn([&] {
        while (!again.load()) heddle::native::yield_thread();
      });
      asleep.release();
      awake.acquire();
      if (heddle::current_worker()->index() != locked_by) ++moves;
      again = true;
      EXPECT_FALSE(lock.try_lock());
      lock.unlock();
      EXPECT_TRUE(lock.try_lock());
      lock.unlock();
      occupant.join();
    }
    EXPECT_GT(moves, 0);
  });
  waker.join();
}

TEST_P(mutex, try_lock_succeeds_only_while_it_is_free) {
  run([&] {
    heddle::mutex lock;
    ASSERT_TRUE(lock.try_lock());
    heddle::spawn([&] { EXPECT_FALSE(lock.try_lock()); }).join();
    std::thread([&] { EXPECT_FALSE(lock.try_lock()); }).join();
    lock.unlock();
    std::thread([&] {
      EXPECT_TRUE(lock.try_lock());
      lock.unlock();
    }).join();
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
  });
}

TEST_P(mutex, timed_lock_gives_up_at_its_deadline_and_not_before) {
  run([&] {
    heddle::mutex lock;
    const auto attempt = [&] {
      const auto before = steady_clock::now();
      EXPECT_FALSE(lock.try_lock_for(2ms));
      EXPECT_GE(steady_clock::now() - before, 2ms);
      EXPECT_FALSE(lock.try_lock_until(steady_clock::now() + 1ms));
      std::unique_lock guard(lock, 1ms);  // the standard's wrapper asks the same
      EXPECT_FALSE(guard.owns_lock());
    };
    lock.lock();
    heddle::spawn(attempt).join();
    std::thread(attempt).join();
    lock.unlock();
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
  });
}

TEST_P(mutex, timed_lock_with_a_passed_deadline_does_not_suspend) {
  run([&] {
    heddle::mutex lock;
    lock.lock();
    heddle::spawn([&] {
      const heddle::worker_counters& counters = heddle::current_worker()->counters();
      const std::uint64_t switches = counters.fibers_run.load();
      const std::uint64_t timers = counters.timers_armed.load();
      EXPECT_FALSE(lock.try_lock_for(0ns));
      EXPECT_FALSE(lock.try_lock_for(-1ns));
      EXPECT_FALSE(lock.try_lock_for(std::chrono::nanoseconds::min()));
      EXPECT_FALSE(lock.try_lock_for(std::chrono::hours::min()));
      EXPECT_FALSE(lock.try_lock_until(steady_clock::time_point::min()));
      EXPECT_FALSE(lock.try_lock_until(steady_clock::now()));
      EXPECT_EQ(counters.fibers_run.load(), switches);
      EXPECT_EQ(counters.timers_armed.load(), timers);
    }).join();
    lock.unlock();
    EXPECT_TRUE(lock.try_lock_for(-1ns));  // but what is free can be had
    lock.unlock();
  });
}

TEST_P(mutex, timed_lock_with_a_huge_deadline_waits_until_it_is_unlocked) {
  run([&] {
    heddle::mutex lock;
    const auto attempt = [&](auto deadline) {
      std::atomic<bool> begun{false};
      lock.lock();
      auto waiting = heddle::spawn([&] {
        begun = true;
        EXPECT_TRUE(lock.try_lock_until(deadline));
        lock.unlock();
      });
      yield_until([&] { return begun.load(); });
      heddle::this_fiber::yield();
      lock.unlock();
      waiting.join();
    };
    attempt(heddle::deadline(std::chrono::nanoseconds::max()));
    attempt(heddle::deadline(std::chrono::hours::max()));
    attempt(heddle::deadline(std::chrono::duration<double>(1e300)));
    attempt(heddle::deadline(steady_clock::time_point::max()));
    attempt(heddle::deadline(24h * 365 * 100));
    attempt(heddle::deadline::never());
  });
}

TEST_P(mutex, timed_locks_that_race_with_unlocks_count_exactly) {
  const int each = rounds(3'000, 200'000);
  guarded_count shared;
  std::atomic<std::int64_t> taken{0};
  const auto attempts = [&](int index) {
    std::minstd_rand random(static_cast<unsigned>(index) + 1);
    for (int i = 0; i < each; ++i) {
      if (shared.lock.try_lock_for(std::chrono::microseconds(random() % 30))) {
        shared.increment();
        work(random() % 64);
        if (heddle::current_worker() != nullptr && random() % 4 == 0) heddle::this_fiber::yield();
        shared.lock.unlock();
        taken.fetch_add(1);
      }
    }
  };
  std::thread thread;
  run([&] {
    thread = std::thread(attempts, 100);
    auto fibers = spawn_many(8, attempts);
    join_all(fibers);
  });
  thread.join();
  EXPECT_EQ(shared.count, taken.load());
  EXPECT_GT(taken.load(), 0);
  EXPECT_TRUE(shared.lock.try_lock());
  shared.lock.unlock();
}

TEST_P(mutex_on_one_worker, serves_waiters_in_the_order_in_which_they_came) {
  run([&] {
    heddle::mutex lock;
    std::vector<int> came;
    std::vector<int> served;
    lock.lock();
    auto fibers = spawn_many(20, [&](int index) {
      came.push_back(index);
      std::lock_guard guard(lock);
      served.push_back(index);
    });
    yield_until([&] { return came.size() == 20; });  // now all of them wait
    lock.unlock();
    join_all(fibers);
    EXPECT_EQ(served, came);
  });
}

TEST_P(mutex_on_one_worker, hands_over_to_a_waiter_that_was_woken_in_vain) {
  run([&] {
    heddle::mutex lock;
    std::atomic<bool> came{false};
    std::atomic<bool> served{false};
    lock.lock();
    auto waiting = heddle::spawn([&] {
      came = true;
      std::lock_guard guard(lock);
      served = true;
    });
    yield_until([&] { return came.load(); });
    // It locks again at once each time, before the one that is woken can run.
    std::uint32_t ahead = 0;
    for (; !served.load(); ++ahead) {
      lock.unlock();
      lock.lock();
      heddle::this_fiber::yield();
    }
    lock.unlock();
    waiting.join();
    EXPECT_LE(ahead, heddle::mutex::most_losses + 1);
  });
}

TEST_P(mutex, lets_no_waiter_starve_beside_greedy_fibers_and_threads) {
  heddle::mutex lock;
  std::atomic<bool> done{false};
  std::thread thread;
  run([&] {
    const auto greedy = [&] {
      while (!done.load(std::memory_order_relaxed)) {
        std::lock_guard guard(lock);
        work(16);
        if (heddle::current_worker() != nullptr) heddle::this_fiber::yield();
      }
    };
    thread = std::thread(greedy);
    auto fiber = heddle::spawn(greedy);
    auto modest = spawn_many(4, [&](int) {
      for (int i = 0; i < rounds(200, 20'000); ++i) {
        { std::lock_guard guard(lock); }
        heddle::this_fiber::yield();
      }
    });
    join_all(modest);
    done = true;
    fiber.join();
  });
  thread.join();
}

TEST_P(mutex, works_under_scoped_lock_in_either_order) {
  const int each = rounds(2'000, 100'000);
  heddle::mutex first;
  heddle::mutex second;
  std::int64_t count = 0;
  run([&] {
    auto fibers = spawn_many(8, [&](int index) {
      for (int i = 0; i < each; ++i) {
        if (index % 2 == 0) {
          std::scoped_lock guard(first, second);
          ++count;
        } else {
          std::scoped_lock guard(second, first);
          ++count;
        }
        if (i % 8 == 0) heddle::this_fiber::yield();
      }
    });
    join_all(fibers);
  });
  EXPECT_EQ(count, 8LL * each);
}

TEST_P(mutex, may_be_destroyed_by_the_one_who_locks_it_next) {
  run([&] {
    for (int i = 0; i < rounds(5'000, 1'000'000); ++i) {
      auto lock = std::make_unique<heddle::mutex>();
      lock->lock();
      auto next = heddle::spawn([&] {
        // Waits, or comes when it is free; then no one else knows of it any more.
        lock->lock();
        lock->unlock();
        lock.reset();
      });
      if (i % 2 == 0) heddle::this_fiber::yield();
      lock->unlock();
      next.join();
    }
  });
}

TEST_P(mutex, excludes_threads_that_run_no_fibers) {
  guarded_count shared;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < rounds(20'000, 1'000'000); ++j) {
        std::lock_guard guard(shared.lock);
        shared.increment();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.count, 4LL * rounds(20'000, 1'000'000));
}

TEST(mutex_assertion, stops_an_owner_that_locks_twice) {
#if defined(NDEBUG)
  GTEST_SKIP() << "checked without NDEBUG only";
#else
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  heddle::mutex lock;
  lock.lock();
  EXPECT_DEATH(lock.lock(), "assertion failed");
  lock.unlock();
#endif
}

}  // namespace
