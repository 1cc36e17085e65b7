#include <memory>
#include <mutex>
#include <stdexcept>

#include <explore/litmus.hpp>
#include <gtest/gtest.h>

#include <heddle/base/assert.hpp>
#include <heddle/queues/simple_mpmc.hpp>

namespace heddle::explore {
namespace {

using namespace litmus;

/// What finds a failure has to find it in both memory models.
class failures : public testing::TestWithParam<memory> {
 protected:
  report run(const std::function<void()>& client) { return explore({.model = GetParam()}, client); }

  void expect_failure(const std::function<void()>& client, const std::string& what) {
    const report done = run(client);
    ASSERT_TRUE(done.found) << "not found: " << what;
    EXPECT_NE(done.found->what.find(what), std::string::npos) << done.found->what;
    EXPECT_NE(done.found->trace.find("FAILED"), std::string::npos) << done.found->trace;
    // The seed alone leads to the same failure, and to the same steps.
    const report again = explore({.model = GetParam(), .replay = done.found->seed}, client);
    ASSERT_TRUE(again.found);
    EXPECT_EQ(again.executions, 1u);
    EXPECT_EQ(again.found->what, done.found->what);
    EXPECT_EQ(again.found->trace, done.found->trace);
  }

  void expect_none(const std::function<void()>& client) {
    const report done = run(client);
    EXPECT_TRUE(done.complete);
    EXPECT_FALSE(done.found) << done.found->what << "\n" << done.found->trace;
  }
};

INSTANTIATE_TEST_SUITE_P(explore, failures, testing::Values(memory::sc, memory::c11),
                         [](const auto& one) { return one.param == memory::sc ? "sc" : "c11"; });

void hand_over(order publish, order observe) {
  model::cell<int> data{0};
  variable flag{0};
  thread writer([&] {
    data.store(1);
    flag.store(1, publish);
  });
  if (flag.load(observe) == 1) require(data.load() == 1, "the data is there");
  writer.join();
}

TEST_P(failures, a_race_on_a_cell_is_found) {
  expect_failure([] { hand_over(relaxed, acquire); }, "data race on c1");
  expect_failure([] { hand_over(release, relaxed); }, "data race on c1");
  expect_none([] { hand_over(release, acquire); });
}

TEST_P(failures, two_writes_of_a_cell_race) {
  expect_failure(
      [] {
        model::cell<int> data{0};
        thread other([&] { data.store(1); });
        data.store(2);
      },
      "data race on c1");
}

/// An atomic in memory that another thread makes.
void publish_object(order publish) {
  std::unique_ptr<variable> made;
  model::atomic<variable*> published{nullptr};
  {
    thread maker([&] {
      made = std::make_unique<variable>(7);
      published.store(made.get(), publish);
    });
    if (variable* const seen = published.load(acquire)) seen->load(relaxed);
  }
}

TEST_P(failures, an_atomic_that_is_not_yet_made_for_this_thread_is_found) {
  expect_failure([] { publish_object(relaxed); }, "uninitialised read");
  expect_none([] { publish_object(release); });
}

TEST_P(failures, a_leak_is_found) {
  expect_failure([] { static_cast<void>(new variable(1)); }, "leak: 1");
}

TEST_P(failures, a_use_after_the_end_is_found) {
  expect_failure(
      [] {
        auto* object = new variable(1);
        model::atomic<variable*> published{object};
        thread user([&] {
          if (variable* const seen = published.load(acquire)) seen->load(relaxed);
        });
        published.store(nullptr, release);
        delete object;
      },
      "destroyed");
}

TEST_P(failures, a_second_destruction_is_found) {
  expect_failure(
      [] {
        auto* object = new variable(1);
        model::atomic<variable*> shared{object};
        const auto take = [&] {
          if (variable* const seen = shared.load(acquire)) {
            shared.store(nullptr, relaxed);
            delete seen;
          }
        };
        thread other(take);
        take();
      },
      "destroyed");
}

TEST_P(failures, a_deadlock_is_found) {
  expect_failure(
      [] {
        model::mutex first, second;
        thread other([&] {
          std::lock_guard outer(first);
          std::lock_guard inner(second);
        });
        std::lock_guard outer(second);
        std::lock_guard inner(first);
      },
      "deadlock: thread 0 waits for m1; thread 1 waits for m2");
}

TEST_P(failures, an_assertion_is_found) {
  expect_failure(
      [] {
        variable x{0};
        thread other([&] { x.store(1, relaxed); });
        HEDDLE_ASSERT(x.load(relaxed) == 0);
      },
      "assertion failed: x.load(relaxed) == 0");
}

TEST_P(failures, an_exception_that_leaves_a_thread_is_found) {
  expect_failure([] { thread other([] { throw std::runtime_error("no more"); }); },
                 "an exception left thread 1: no more");
}

TEST_P(failures, a_mutex_orders_what_it_guards) {
  expect_none([] {
    model::mutex lock;
    model::cell<int> sum{0};
    const auto add = [&] {
      std::lock_guard guard(lock);
      sum.store(sum.load() + 1);
    };
    thread one(add);
    thread other(add);
    one.join();
    other.join();
    require(sum.load() == 2, "both were added");
  });
}

TEST_P(failures, try_lock_may_fail_and_may_succeed) {
  std::set<bool> seen;
  const report done = run([&] {
    model::mutex lock;
    thread other([&] { std::lock_guard guard(lock); });
    const bool taken = lock.try_lock();
    if (taken) lock.unlock();
    seen.insert(taken);
  });
  EXPECT_TRUE(done.complete);
  EXPECT_EQ(seen.size(), 2u);
}

TEST_P(failures, a_spin_that_ends_is_explored_to_its_end) {
  for (const bool with_pause : {true, false}) {
    const report done = run([&] {
      variable flag{0};
      model::cell<int> data{0};
      thread writer([&] {
        data.store(1);
        flag.store(1, release);
      });
      while (flag.load(acquire) == 0) {
        if (with_pause) model::pause();
      }
      require(data.load() == 1, "the data is there");
    });
    EXPECT_TRUE(done.complete);
    EXPECT_FALSE(done.found);
    EXPECT_GT(done.executions, done.cut);
  }
}

TEST_P(failures, a_spin_that_never_ends_is_cut_and_counted) {
  for (const bool with_pause : {true, false}) {
    const report done = run([&] {
      variable flag{0};
      while (flag.load(acquire) == 0) {
        if (with_pause) model::yield_thread();
      }
    });
    EXPECT_TRUE(done.complete);
    EXPECT_FALSE(done.found);
    EXPECT_EQ(done.cut, 1u);
    EXPECT_EQ(done.executions, 1u);
  }
}

TEST_P(failures, an_execution_with_too_many_steps_is_cut) {
  const report done = explore({.model = GetParam(), .most_steps = 100}, [] {
    variable x{0};
    for (int round = 0; round < 200; ++round) x.store(round, relaxed);
  });
  EXPECT_EQ(done.cut, 1u);
}

TEST(executions, with_too_many_seq_cst_operations_are_cut) {
  const report done = explore({}, [] {
    variable x{0};
    for (int round = 0; round < 200; ++round) x.fetch_add(1, seq_cst);
  });
  EXPECT_EQ(done.cut, 1u);
}

/// Fails when the second thread runs between two steps of the first, twice.
void needs_two_preemptions() {
  variable x{0};
  bool wrong = false;
  {
    thread one([&] {
      x.store(1, seq_cst);
      x.store(2, seq_cst);
    });
    thread other([&] {
      const bool first = x.load(seq_cst) == 1;
      wrong = x.load(seq_cst) == 2 && first;
    });
  }
  require(!wrong, "nothing is seen in between");
}

TEST(preemptions, are_bounded) {
  EXPECT_FALSE(explore({.model = memory::sc, .preemption_bound = 0}, needs_two_preemptions).found);
  EXPECT_FALSE(explore({.model = memory::sc, .preemption_bound = 1}, needs_two_preemptions).found);
  EXPECT_TRUE(explore({.model = memory::sc, .preemption_bound = 2}, needs_two_preemptions).found);
}

TEST(random_search, finds_a_bug_of_depth_two) {
  const options pct{.model = memory::sc, .search = strategy::random, .most_executions = 2'000};
  const report done = explore(pct, needs_two_preemptions);
  ASSERT_TRUE(done.found);
  options again = pct;
  again.replay = done.found->seed;
  const report repeated = explore(again, needs_two_preemptions);
  ASSERT_TRUE(repeated.found);
  EXPECT_EQ(repeated.found->trace, done.found->trace);
}

TEST(random_search, finds_a_weak_outcome) {
  const options random{.search = strategy::random, .most_executions = 2'000};
  const auto seen = outcomes_of([] { return independent_reads(release, acquire); }, random);
  EXPECT_TRUE(seen.contains({1, 0, 1, 0}));
}

/// Two threads that push and pop once each; the pool and the handles do some thousand steps more.
void push_and_pop_twice() {
  using queue = simple_mpmc::type<std::uint64_t, model>;
  queue shared{queue_options{}};
  int popped = 0;
  {
    const auto push_and_pop = [&](std::uint64_t item) {
      queue::handle self(shared);
      shared.try_push(item, self);
      if (shared.try_pop(self)) ++popped;
    };
    thread one([&] { push_and_pop(1); });
    thread other([&] { push_and_pop(2); });
  }
  require(popped == 2, "each finds an item");
}

TEST(queues, with_two_threads_that_push_and_pop_are_explored_completely) {
  const report done = explore({.name = "simple_mpmc, 2 x (push, pop)"}, push_and_pop_twice);
  EXPECT_TRUE(done.complete);
  EXPECT_EQ(done.cut, 0u);
  EXPECT_FALSE(done.found) << done.found->what << "\n" << done.found->trace;
}

TEST(seeds, of_another_model_are_refused) {
  EXPECT_THROW(explore({.replay = "sc-3.1"}, [] {}), std::invalid_argument);
  EXPECT_THROW(explore({.replay = "c11-x"}, [] {}), std::invalid_argument);
}

TEST(clients, that_are_not_deterministic_are_refused) {
  int calls = 0;
  EXPECT_THROW(explore({},
                       [&] {
                         variable x{0};
                         thread other([&] { x.store(1, relaxed); });
                         if (++calls % 2 == 1) x.load(relaxed);
                       }),
               std::logic_error);
}

}  // namespace
}  // namespace heddle::explore
