#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "on_runtime.hpp"
#include <heddle/sync/condition_variable.hpp>
#include <heddle/sync/mutex.hpp>
#include <heddle/sync/semaphore.hpp>

namespace {

using namespace std::chrono_literals;
using lock_type = std::unique_lock<heddle::mutex>;

class lifetime : public on_runtime {};
INSTANTIATE_TEST_SUITE_P(workers, lifetime, ::testing::Values(1U, 2U, 4U),
                         ::testing::PrintToStringParamName());

TEST_P(lifetime, a_mutex_may_be_destroyed_by_the_one_who_locks_it_next) {
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
TEST_P(lifetime, a_condition_variable_may_live_on_the_stack_of_the_fiber_that_waits) {
  const int each = rounds(20'000, 1'000'000);
  server one;
  run([&] {
    auto serving = heddle::spawn([&] { one.serve(each); });
    one.ask(each);
    serving.join();
  });
}

TEST_P(lifetime, a_condition_variable_may_live_on_the_stack_of_a_fiber_that_a_thread_notifies) {
  const int each = rounds(2'000, 200'000);
  server one;
  std::thread serving([&] { one.serve(each); });
  run([&] { one.ask(each); });
  serving.join();
}

TEST_P(lifetime, a_condition_variable_may_live_on_the_stack_of_a_thread_that_a_fiber_notifies) {
  const int each = rounds(2'000, 200'000);
  server one;
  std::thread asking([&] { one.ask(each); });
  run([&] { one.serve(each); });
  asking.join();
}

TEST_P(lifetime, a_semaphore_may_be_destroyed_by_the_waiter_that_got_the_last_permit) {
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

TEST_P(lifetime, a_semaphore_may_be_destroyed_by_a_thread_that_got_the_last_permit) {
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

}  // namespace
