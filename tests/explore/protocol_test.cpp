#include <mutex>

#include <explore/model_parker.hpp>
#include <explore/protocol_mutants.hpp>
#include <gtest/gtest.h>

#include <heddle/sync/condition_variable.hpp>
#include <heddle/sync/mutex.hpp>
#include <heddle/sync/semaphore.hpp>

namespace heddle::explore {
namespace {

void expect_none(const char* name, options wanted, const std::function<void()>& client) {
  wanted.name = name;
  const report done = explore(wanted, client);
  EXPECT_TRUE(done.complete);
  EXPECT_EQ(done.cut, 0u);
  EXPECT_FALSE(done.found) << done.found->what << "\n" << done.found->trace;
}

void expect_deadlock(const char* name, options wanted, const std::function<void()>& client) {
  wanted.name = name;
  const report done = explore(wanted, client);
  ASSERT_TRUE(done.found);
  EXPECT_TRUE(done.found->what.starts_with("deadlock")) << done.found->what;
  wanted.replay = done.found->seed;
  const report again = explore(wanted, client);
  ASSERT_TRUE(again.found);
  EXPECT_EQ(again.found->trace, done.found->trace);
}

const options two_preemptions{.preemption_bound = 2};

template <class Runtime>
void one_worker() {
  Runtime runtime(1, 1);
  thread worker([&] { runtime.work(0); });
  runtime.push();
}

template <class Runtime, int Items>
void two_workers() {
  Runtime runtime(2, Items);
  thread first([&] { runtime.work(0); });
  thread second([&] { runtime.work(1); });
  for (int item = 0; item < Items; ++item) runtime.push();
}

TEST(idle_protocol, loses_no_wake_up) {
  expect_none("idle, 1 worker, 1 item", {}, one_worker<small_runtime<model>>);
  expect_none("idle, 2 workers, 1 item", {}, two_workers<small_runtime<model>, 1>);
}

TEST(idle_protocol, brings_every_item_a_worker) {
  expect_none("idle, 2 workers, 2 items, 2 preemptions", two_preemptions,
              two_workers<small_runtime<model>, 2>);
}

TEST(idle_protocol_mutants, without_a_fence_are_caught) {
  expect_deadlock("idle without fences", {}, one_worker<small_runtime<model_without_fences>>);
}

TEST(idle_protocol_mutants, without_the_last_look_are_caught) {
  expect_deadlock("idle without recheck", {}, one_worker<small_runtime<model, recheck::never>>);
}

TEST(idle_protocol_mutants, that_announce_after_the_last_look_are_caught) {
  expect_deadlock("idle, announced after recheck", {},
                  one_worker<small_runtime<model, recheck::before_announcing>>);
}

TEST(idle_protocol_mutants, whose_last_searcher_does_not_look_again_are_caught) {
  expect_deadlock("idle, last searcher looks no more", two_preemptions,
                  two_workers<small_runtime<model, recheck::after_announcing, false>, 2>);
}

using explored_mutex = basic_mutex<model, model_parker>;
using explored_semaphore = basic_semaphore<model, model_parker>;
using explored_condition = basic_condition_variable<model, model_parker>;

void two_threads_with_a_mutex() {
  explored_mutex lock;
  model::cell<int> sum{0};
  {
    const auto add = [&] {
      std::lock_guard guard(lock);
      sum.store(sum.load() + 1);
    };
    thread one(add);
    thread other(add);
  }
  require(sum.load() == 2, "both were added");
}

TEST(mutex, excludes_and_loses_no_wake_up) {
  expect_none("mutex, 2 threads", {}, two_threads_with_a_mutex);
}

TEST(mutex, gives_a_timed_waiter_the_lock_or_the_time) {
  expect_none("mutex, lock and try_lock_for", {}, [] {
    explored_mutex lock;
    model::cell<int> sum{0};
    thread timed([&] {
      if (!lock.try_lock_for(std::chrono::seconds(1))) return;
      sum.store(sum.load() + 1);
      lock.unlock();
    });
    std::lock_guard guard(lock);
    sum.store(sum.load() + 1);
  });
}

TEST(semaphore, gives_every_permit_to_one_waiter) {
  expect_none("semaphore, 2 acquire, 2 release", {}, [] {
    explored_semaphore permits(0);
    thread one([&] { permits.acquire(); });
    thread other([&] { permits.acquire(); });
    permits.release();
    permits.release();
  });
}

TEST(semaphore, may_be_destroyed_by_who_took_the_last_permit) {
  expect_none("semaphore, destroyed by the waiter", {}, [] {
    auto* const done = new explored_semaphore(0);
    thread releaser([&] { done->release(); });
    done->acquire();
    delete done;
  });
}

TEST(condition_variable, loses_no_notification) {
  expect_none("condition variable, wait and notify", {}, [] {
    explored_mutex lock;
    explored_condition changed;
    model::cell<bool> ready{false};
    thread waiter([&] {
      std::unique_lock guard(lock);
      while (!ready.load()) changed.wait(guard);
    });
    {
      std::lock_guard guard(lock);
      ready.store(true);
    }
    changed.notify_one();
  });
}

}  // namespace
}  // namespace heddle::explore
