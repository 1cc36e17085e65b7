#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "on_runtime.hpp"
#include <heddle/sync/mutex.hpp>
#include <heddle/sync/semaphore.hpp>

namespace {

class mutex : public on_runtime {};
INSTANTIATE_TEST_SUITE_P(workers, mutex, ::testing::Values(1U, 2U, 4U),
                         ::testing::PrintToStringParamName());

/// Here the order in which fibers run is known.
class mutex_on_one_worker : public on_runtime {};
INSTANTIATE_TEST_SUITE_P(workers, mutex_on_one_worker, ::testing::Values(1U),
                         ::testing::PrintToStringParamName());

/// Here fibers move.
class mutex_on_several_workers : public on_runtime {};
INSTANTIATE_TEST_SUITE_P(workers, mutex_on_several_workers, ::testing::Values(2U, 4U),
                         ::testing::PrintToStringParamName());

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
