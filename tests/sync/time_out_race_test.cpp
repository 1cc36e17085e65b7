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
#include <heddle/time/sleep.hpp>

namespace {

using namespace std::chrono_literals;
using std::cv_status;
using std::chrono::microseconds;
using std::chrono::steady_clock;
using lock_type = std::unique_lock<heddle::mutex>;

class time_out_race : public on_runtime {};
INSTANTIATE_TEST_SUITE_P(workers, time_out_race, ::testing::Values(1U, 2U, 4U),
                         ::testing::PrintToStringParamName());

TEST_P(time_out_race, of_locks_and_unlocks_loses_no_section) {
  const int each = rounds(3'000, 200'000);
  heddle::mutex lock;
  std::int64_t count = 0;  // of who holds the mutex
  std::atomic<std::int64_t> taken{0};
  const auto attempts = [&](int index) {
    std::minstd_rand random(static_cast<unsigned>(index) + 1);
    for (int i = 0; i < each; ++i) {
      if (lock.try_lock_for(std::chrono::microseconds(random() % 30))) {
        ++count;
        work(random() % 64);
        if (heddle::current_worker() != nullptr && random() % 4 == 0) heddle::this_fiber::yield();
        lock.unlock();
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
  EXPECT_EQ(count, taken.load());
  EXPECT_GT(taken.load(), 0);
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
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

TEST_P(time_out_race, never_loses_a_notification) {
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
TEST_P(time_out_race, of_a_wait_and_its_notification_ends_once) {
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

TEST_P(time_out_race, leaves_each_permit_to_one_waiter_or_to_nobody) {
  const int each = rounds(3'000, 300'000);
  heddle::semaphore permits(0);
  std::atomic<std::int64_t> acquired{0};
  std::atomic<bool> done{false};
  std::int64_t released = 0;
  std::thread giver;
  const auto attempts = [&](int index) {
    std::minstd_rand random(static_cast<unsigned>(index) + 1);
    for (int i = 0; i < each; ++i)
      if (permits.try_acquire_for(microseconds(random() % 40))) acquired.fetch_add(1);
  };
  std::thread also_waiting;
  run([&] {
    giver = std::thread([&] {
      std::minstd_rand random(7);
      while (!done.load()) {
        const std::uint64_t count = random() % 3;
        permits.release(count);
        released += static_cast<std::int64_t>(count);
        std::this_thread::sleep_for(microseconds(random() % 20));
      }
    });
    also_waiting = std::thread(attempts, 100);
    auto fibers = spawn_many(8, attempts);
    join_all(fibers);
    done = true;
  });
  giver.join();
  also_waiting.join();
  std::int64_t left = 0;
  while (permits.try_acquire()) ++left;
  EXPECT_EQ(acquired.load() + left, released);
  EXPECT_GT(acquired.load(), 0);
}

}  // namespace
