#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "on_runtime.hpp"
#include <heddle/sync/condition_variable.hpp>
#include <heddle/sync/mutex.hpp>
#include <heddle/sync/semaphore.hpp>

namespace {

using namespace std::chrono_literals;
using std::cv_status;
using std::chrono::microseconds;
using std::chrono::steady_clock;
using lock_type = std::unique_lock<heddle::mutex>;

class timed_wait : public on_runtime {};
INSTANTIATE_TEST_SUITE_P(workers, timed_wait, ::testing::Values(1U, 2U, 4U),
                         ::testing::PrintToStringParamName());

TEST_P(timed_wait, for_a_mutex_ends_at_its_deadline_and_not_before) {
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

TEST_P(timed_wait, for_a_mutex_with_a_passed_deadline_does_not_suspend) {
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

TEST_P(timed_wait, for_a_mutex_with_a_huge_deadline_lasts_until_it_is_unlocked) {
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

TEST_P(timed_wait, for_a_notification_ends_at_its_deadline_and_not_before) {
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

TEST_P(timed_wait, for_a_notification_with_a_passed_deadline_neither_suspends_nor_unlocks) {
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

TEST_P(timed_wait, for_a_notification_with_a_huge_deadline_lasts_until_it_comes) {
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

TEST_P(timed_wait, for_a_predicate_has_one_deadline) {
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
TEST_P(timed_wait, for_a_notification_without_a_notifier_always_times_out) {
  const int each = rounds(3'000, workers() == 4 ? 1'000'000 : 50'000);
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

TEST_P(timed_wait, for_a_permit_ends_at_its_deadline_and_not_before) {
  run([&] {
    heddle::semaphore permits(0);
    const auto attempt = [&] {
      const auto before = steady_clock::now();
      EXPECT_FALSE(permits.try_acquire_for(2ms));
      EXPECT_GE(steady_clock::now() - before, 2ms);
      EXPECT_FALSE(permits.try_acquire_until(steady_clock::now() + 1ms));
    };
    heddle::spawn(attempt).join();
    std::thread(attempt).join();
    permits.release();
    EXPECT_TRUE(permits.try_acquire_for(1h));
  });
}

TEST_P(timed_wait, for_a_permit_with_a_passed_deadline_does_not_suspend) {
  run([&] {
    heddle::semaphore permits(0);
    const heddle::worker_counters& counters = heddle::current_worker()->counters();
    const std::uint64_t switches = counters.fibers_run.load();
    const std::uint64_t timers = counters.timers_armed.load();
    EXPECT_FALSE(permits.try_acquire_for(0ns));
    EXPECT_FALSE(permits.try_acquire_for(-1ns));
    EXPECT_FALSE(permits.try_acquire_for(std::chrono::nanoseconds::min()));
    EXPECT_FALSE(permits.try_acquire_for(std::chrono::hours::min()));
    EXPECT_FALSE(permits.try_acquire_until(steady_clock::time_point::min()));
    EXPECT_FALSE(permits.try_acquire_until(steady_clock::now()));
    EXPECT_EQ(counters.fibers_run.load(), switches);
    EXPECT_EQ(counters.timers_armed.load(), timers);
  });
}

TEST_P(timed_wait, for_a_permit_with_a_huge_deadline_lasts_until_there_is_one) {
  heddle::semaphore permits(0);
  heddle::semaphore asked(0);
  constexpr int attempts = 5;
  std::thread giver([&] {
    for (int i = 0; i < attempts; ++i) {
      asked.acquire();
      permits.release();
    }
  });
  run([&] {
    const auto attempt = [&](heddle::deadline deadline) {
      asked.release();
      EXPECT_TRUE(permits.try_acquire_until(deadline));
    };
    attempt(std::chrono::nanoseconds::max());
    attempt(std::chrono::hours::max());
    attempt(std::chrono::duration<double>(1e300));
    attempt(steady_clock::time_point::max());
    attempt(heddle::deadline::never());
  });
  giver.join();
}

// brpc#866
TEST_P(timed_wait, for_a_permit_without_a_release_always_times_out) {
  const int each = rounds(3'000, workers() == 4 ? 1'000'000 : 50'000);
  std::atomic<std::int64_t> timed_out{0};
  run([&] {
    heddle::semaphore never_released(0);
    auto fibers = spawn_many(8, [&](int index) {
      std::minstd_rand random(static_cast<unsigned>(index) + 1);
      for (int i = 0; i < each; ++i)
        if (!never_released.try_acquire_for(microseconds(random() % 51))) timed_out.fetch_add(1);
    });
    join_all(fibers);
  });
  EXPECT_EQ(timed_out.load(), 8LL * each);
}

}  // namespace
