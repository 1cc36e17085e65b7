#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "on_runtime.hpp"
#include <heddle/sync/semaphore.hpp>

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

class semaphore : public on_runtime {};
INSTANTIATE_TEST_SUITE_P(workers, semaphore, ::testing::Values(1U, 2U, 4U),
                         ::testing::PrintToStringParamName());

/// Here the order in which fibers run is known.
class semaphore_on_one_worker : public on_runtime {};
INSTANTIATE_TEST_SUITE_P(workers, semaphore_on_one_worker, ::testing::Values(1U),
                         ::testing::PrintToStringParamName());

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
