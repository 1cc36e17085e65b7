#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "on_runtime.hpp"
#include <heddle/sync/semaphore.hpp>

namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::steady_clock;

class semaphore : public on_runtime {};
HEDDLE_ON_RUNTIMES(semaphore, 1, 2, 4);

/// Here the order in which fibers run is known.
class semaphore_on_one_worker : public on_runtime {};
HEDDLE_ON_RUNTIMES(semaphore_on_one_worker, 1);

TEST_P(semaphore, lets_in_as_many_as_it_has_permits) {
  constexpr int permits = 3;
  const int each = rounds(10'000, 500'000);
  heddle::semaphore slots(permits);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  const auto visits = [&](int index) {
    for (int i = 0; i < each; ++i) {
      slots.acquire();
      const int now = inside.fetch_add(1) + 1;
      for (int seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      if (heddle::current_worker() != nullptr && (i + index) % 4 == 0) heddle::this_fiber::yield();
      inside.fetch_sub(1);
      slots.release();
    }
  };
  std::vector<std::thread> threads;
  run([&] {
    for (int i = 0; i < 2; ++i) threads.emplace_back(visits, i);
    auto fibers = spawn_many(16, visits);
    join_all(fibers);
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most.load(), permits);
  EXPECT_EQ(inside.load(), 0);
  for (int i = 0; i < permits; ++i) EXPECT_TRUE(slots.try_acquire());
  EXPECT_FALSE(slots.try_acquire());
}

TEST_P(semaphore, hands_what_was_done_before_release_to_who_acquires) {
  const int each = rounds(5'000, 1'000'000);
  heddle::semaphore full(0);
  heddle::semaphore empty(1);
  std::int64_t slot = 0;  // plain: ordered by the semaphores alone
  std::int64_t sum = 0;
  std::thread producer([&] {
    for (int i = 1; i <= each; ++i) {
      empty.acquire();
      slot = i;
      full.release();
    }
  });
  run([&] {
    for (int i = 1; i <= each; ++i) {
      full.acquire();
      sum += slot;
      empty.release();
    }
  });
  producer.join();
  EXPECT_EQ(sum, std::int64_t{each} * (each + 1) / 2);
}

TEST_P(semaphore, try_acquire_takes_only_what_is_there) {
  heddle::semaphore permits(2);
  EXPECT_TRUE(permits.try_acquire());
  EXPECT_TRUE(permits.try_acquire());
  EXPECT_FALSE(permits.try_acquire());
  permits.release(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(permits.try_acquire());
  EXPECT_FALSE(permits.try_acquire());
}

TEST_P(semaphore, refuses_to_count_beyond_its_maximum) {
  constexpr std::uint64_t max = heddle::semaphore::max();
  EXPECT_THROW(heddle::semaphore(max + 1), std::invalid_argument);
  heddle::semaphore permits(max - 1);
  permits.release();
  EXPECT_THROW(permits.release(), std::overflow_error);
  EXPECT_THROW(permits.release(max), std::overflow_error);
  EXPECT_THROW(permits.release(max + 1), std::overflow_error);
  EXPECT_TRUE(permits.try_acquire());
  permits.release();
  EXPECT_THROW(permits.release(1), std::overflow_error);
  permits.release(0);

  run([&] {
    heddle::semaphore waited_for(0);
    std::atomic<bool> begun{false};
    auto waiting = heddle::spawn([&] {
      begun = true;
      waited_for.acquire();
    });
    yield_until([&] { return begun.load(); });
    heddle::this_fiber::yield();
    EXPECT_THROW(waited_for.release(max + 1), std::overflow_error);
    waited_for.release(max);
    waiting.join();
    waited_for.release();  // the waiter took one
    EXPECT_THROW(waited_for.release(), std::overflow_error);
  });
}

TEST_P(semaphore_on_one_worker, release_serves_waiters_in_order_and_keeps_the_rest) {
  run([&] {
    heddle::semaphore permits(0);
    std::vector<int> came;
    std::vector<int> served;
    auto fibers = spawn_many(10, [&](int index) {
      came.push_back(index);
      permits.acquire();
      served.push_back(index);
    });
    yield_until([&] { return came.size() == 10; });  // now all of them wait
    for (std::size_t count = 1; count <= 4; ++count) {
      permits.release();
      EXPECT_FALSE(permits.try_acquire());  // nobody gets past them
      yield_until([&] { return served.size() == count; });
    }
    EXPECT_EQ(served, std::vector(came.begin(), came.begin() + 4));
    permits.release(8);
    join_all(fibers);
    EXPECT_EQ(served.size(), 10U);
    EXPECT_TRUE(permits.try_acquire());
    EXPECT_TRUE(permits.try_acquire());
    EXPECT_FALSE(permits.try_acquire());
  });
}

TEST_P(semaphore, timed_acquire_gives_up_at_its_deadline_and_not_before) {
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

TEST_P(semaphore, timed_acquire_with_a_passed_deadline_does_not_suspend) {
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

TEST_P(semaphore, timed_acquire_with_a_huge_deadline_waits_for_a_permit) {
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
TEST_P(semaphore, short_waits_without_a_release_all_time_out) {
  const int each = rounds(3'000, 1'000'000);
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

TEST_P(semaphore, each_permit_goes_to_one_waiter_or_stays_when_waits_time_out) {
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

// boost fiber#327. A lost wake-up would last until the next event, that is for ever here; the bound
// is wide enough for a busy machine in all but a few rounds.
TEST_P(semaphore, wakes_an_idle_runtime_from_a_plain_thread) {
  const int each = rounds(1'000, 1'000);
  heddle::semaphore posted(0);
  heddle::semaphore answered(0);
  int late = 0;
  std::thread poster([&] {
    std::uint64_t parks = 0;
    for (int i = 0; i < each; ++i) {
      // The worker that answered has nothing left to do, and sleeps.
      while (runtime().stats().parks == parks) std::this_thread::yield();
      if (std::getenv("HEDDLE_LONG") != nullptr) std::this_thread::sleep_for(1s);
      parks = runtime().stats().parks;
      const auto before = steady_clock::now();
      posted.release();
      ASSERT_TRUE(answered.try_acquire_for(20s)) << "round " << i;
      if (steady_clock::now() - before > 50ms) ++late;
    }
  });
  run([&] {
    for (int i = 0; i < each; ++i) {
      posted.acquire();
      answered.release();
    }
  });
  poster.join();
  EXPECT_LE(late, each / 100);
}

TEST_P(semaphore, may_be_destroyed_by_the_waiter_that_got_the_last_permit) {
  run([&] {
    heddle::semaphore requests(0);
    std::atomic<heddle::semaphore*> current{nullptr};
    const int each = rounds(20'000, 1'000'000);
    auto giver = heddle::spawn([&] {
      for (int i = 0; i < each; ++i) {
        requests.acquire();
        current.load()->release();
      }
    });
    for (int i = 0; i < each; ++i) {
      auto own = std::make_unique<heddle::semaphore>(0);
      current = own.get();
      requests.release();
      own->acquire();
    }
    giver.join();
  });
}

TEST_P(semaphore, may_be_destroyed_by_a_thread_that_got_the_last_permit) {
  const int each = rounds(3'000, 500'000);
  heddle::semaphore requests(0);
  std::atomic<heddle::semaphore*> current{nullptr};
  std::thread waiter([&] {
    for (int i = 0; i < each; ++i) {
      auto own = std::make_unique<heddle::semaphore>(0);
      current = own.get();
      requests.release();
      if (i % 2 == 0)
        own->acquire();
      else
        ASSERT_TRUE(own->try_acquire_for(1h));
    }
  });
  run([&] {
    for (int i = 0; i < each; ++i) {
      requests.acquire();
      current.load()->release();
    }
  });
  waiter.join();
}

// tokio#2349
TEST_P(semaphore_on_one_worker, two_fibers_that_wake_each_other_leave_room_for_a_third) {
  run([&] {
    heddle::semaphore ping(0);
    heddle::semaphore pong(0);
    bool done = false;
    std::int64_t exchanges = 0;
    auto first = heddle::spawn([&] {
      while (!done) {
        ping.release();
        pong.acquire();
        ++exchanges;
      }
      ping.release();
    });
    auto second = heddle::spawn([&] {
      while (!done) {
        ping.acquire();
        pong.release();
      }
    });
    constexpr int turns = 10'000;
    for (int i = 0; i < turns; ++i) heddle::this_fiber::yield();
    // In each turn of the third the others have a few, not thousands.
    EXPECT_LE(exchanges, 100 * turns);
    EXPECT_GT(exchanges, 0);
    done = true;
    first.join();
    second.join();
  });
}

}  // namespace
