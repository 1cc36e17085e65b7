#include <stdexcept>
#include <vector>

#include "conformance.hpp"

namespace heddle::conformance {
namespace {

// Field report 4: taskflow#107.
TEST(runs, a_root_that_returns_at_once_ends_the_run) {
  auto runtime = make_runtime(3);
  for (std::size_t i = 0; i < scaled(2000); ++i) ASSERT_EQ(runtime->run([i] { return i; }), i);
  expect_quiet(*runtime);
}

TEST(runs, a_root_that_throws_ends_the_run_with_its_exception) {
  auto runtime = make_runtime(3);
  for (std::size_t i = 0; i < scaled(500); ++i)
    ASSERT_THROW(runtime->run([] { throw std::runtime_error("root"); }), std::runtime_error);
  EXPECT_EQ(runtime->run([] { return 1; }), 1);
  expect_quiet(*runtime);
}

TEST(runs, a_root_that_throws_stops_what_still_waits) {
  auto runtime = make_runtime(2);
  std::error_code slept;
  const auto root = [&] {
    spawn([&] { slept = sleep_for(1h).error(); });
    this_fiber::yield();
    throw std::runtime_error("root");
  };
  EXPECT_LT(milliseconds(time_of([&] { EXPECT_THROW(runtime->run(root), std::runtime_error); })),
            1000.0 * leniency);
  EXPECT_EQ(slept, std::errc::operation_canceled);
  expect_quiet(*runtime);
}

TEST(runs, run_returns_when_the_last_fiber_has_ended_and_not_before) {
  auto runtime = make_runtime(2);
  std::atomic<bool> ended{false};
  runtime->run([&] {
    spawn([&] {
      for (int i = 0; i < 1000; ++i) this_fiber::yield();
      EXPECT_TRUE(succeeded(sleep_for(2ms)));
      ended = true;
    });
  });
  EXPECT_TRUE(ended);
}

TEST(runs, fibers_that_were_spawned_before_the_run_run_in_it) {
  auto runtime = make_runtime(2);
  std::atomic<int> runs{0};
  {
    plain_thread spawner([&] {
      for (int i = 0; i < 100; ++i) runtime->spawn([&] { ++runs; });
    });
  }
  auto kept = runtime->spawn([&] { return ++runs; });
  EXPECT_EQ(runtime->live_fibers(), 101u);
  runtime->run([] {});
  EXPECT_EQ(runs, 101);
  kept.join();
  expect_quiet(*runtime);
}

// A plain thread cannot know when a run is about to end. What comes too late for one run belongs to
// the next, as what is spawned before run().
TEST(runs, a_spawn_that_meets_the_end_of_a_run_is_not_lost) {
  auto runtime = make_runtime(2);
  const std::size_t total = scaled(20'000);
  std::atomic<std::size_t> runs{0};
  plain_thread spawner([&] {
    for (std::size_t i = 0; i < total; ++i) {
      runtime->spawn([&] { ++runs; });
      for (std::size_t pause = 0; pause < i % 200; ++pause) native::pause();
    }
  });
  while (runs < total) ASSERT_NO_THROW(runtime->run([] {}));
  spawner.join();
  expect_quiet(*runtime);
}

TEST(runs, the_exception_that_the_caller_handles_survives_a_run) {
  auto runtime = make_runtime(2);
  const auto run = [&] {
    runtime->run([] {
      try {
        throw std::logic_error("of the fiber");
      } catch (const std::logic_error&) {
        this_fiber::yield();
      }
    });
  };
  try {
    try {
      throw std::runtime_error("of the caller");
    } catch (...) {
      run();
      ASSERT_NE(std::current_exception(), nullptr);
      throw;
    }
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "of the caller");
  }
}

TEST(runs, a_run_in_a_destructor_keeps_the_callers_count_of_exceptions) {
  auto runtime = make_runtime(2);
  struct runs_at_end {
    runtime_base& runtime;
    ~runs_at_end() {
      const int before = std::uncaught_exceptions();
      runtime.run([] { EXPECT_EQ(std::uncaught_exceptions(), 0); });
      EXPECT_EQ(std::uncaught_exceptions(), before);
    }
  };
  try {
    const runs_at_end object{*runtime};
    throw std::runtime_error("of the caller");
  } catch (const std::runtime_error&) {
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  }
}

// Field report 6: brpc#2986. A sleeper's sleep ends with operation_canceled.
TEST(runs, start_and_stop_take_less_than_100_ms_with_or_without_a_sleeper) {
  const std::size_t cycles = scaled(2000, 10'000);
  std::vector<std::chrono::nanoseconds> times;
  for (std::size_t i = 0; i < cycles; ++i) {
    const bool sleeper = i % 2 == 1;
    std::error_code slept;
    times.push_back(time_of([&] {
      auto runtime = make_runtime(2);
      runtime->run([&] {
        if (sleeper) spawn([&] { slept = sleep_for(1h).error(); });
        if (i % 4 >= 2) this_fiber::yield();
        runtime->request_stop();
      });
    }));
    if (sleeper) {
      ASSERT_EQ(slept, std::errc::operation_canceled);
    }
  }
  expect_nearly_all_below(100ms, times);
}

// Field report 7: boost fiber#217; here two of one combination.
TEST(runs, two_runtimes_work_side_by_side_and_can_be_recreated) {
  const std::size_t times = scaled(100, 2000);
  for (std::size_t i = 0; i < times; ++i) {
    auto left = make_runtime(2);
    auto right = make_runtime(2);
    std::atomic<int> from_left{0};
    event right_may_end;
    plain_thread other([&] { right->run([&] { right_may_end.wait(); }); });
    left->run([&] {
      // A fiber of one spawns in the other and joins across.
      for (int k = 0; k < 20; ++k)
        from_left += right->spawn([k] { return this_fiber::yield(), k; }).join();
      EXPECT_EQ(spawn([] { return 1; }).join(), 1);
      EXPECT_TRUE(succeeded(sleep_for(100us)));
      right_may_end.set();
    });
    other.join();
    ASSERT_EQ(from_left, 190);
    expect_quiet(*left);
    expect_quiet(*right);
  }
}

// Field report 2: boost fiber#327.
TEST(runs, an_idle_runtime_runs_what_a_plain_thread_spawns_within_50_ms) {
  auto runtime = make_runtime(2);
  std::vector<std::chrono::nanoseconds> times;
  runtime->run([&] {
    event done;
    plain_thread outside([&] {
      for (std::size_t i = 0; i < scaled(1000); ++i) {
        if (i % 10 == 0) std::this_thread::sleep_for(1ms);  // the workers have gone to sleep
        times.push_back(time_of([&] { runtime->spawn([] {}).join(); }));
      }
      done.set();
    });
    done.wait();
  });
  expect_nearly_all_below(50ms, times);
}

TEST(runs, a_wake_up_is_never_lost_around_a_park) {
  for (const unsigned workers : {1u, 3u}) {
    auto runtime = make_runtime(workers);
    std::vector<std::chrono::nanoseconds> times;
    runtime->run([&] {
      event done;
      plain_thread outside([&] {
        for (std::size_t i = 0; i < scaled(30'000, 1'000'000); ++i) {
          times.push_back(time_of([&] { runtime->spawn([] {}).join(); }));
          // Meets the workers at every step of their way to sleep.
          for (std::size_t pause = 0; pause < i * 7 % 300; ++pause) native::pause();
        }
        done.set();
      });
      done.wait();
    });
    expect_nearly_all_below(50ms, times);
    expect_quiet(*runtime);
  }
}

TEST(runs, an_idle_runtime_uses_no_processor) {
  auto runtime = make_runtime(2);
  std::chrono::nanoseconds used{};
  runtime->run([&] {
    sleep_for(1ms).value();
    const auto before = processor_time();
    sleep_for(500ms).value();
    used = processor_time() - before;
  });
  EXPECT_LT(milliseconds(used), 10.0 * leniency);  // 2 %
}

TEST(runs, one_worker_is_enough_for_everything) {
  auto runtime = make_runtime(1);
  const int answer = runtime->run([] {
    event set;
    auto waits = spawn([&] { return set.wait(), 1; });
    auto sleeps = spawn([] { return succeeded(sleep_for(1ms)) ? 2 : 0; });
    auto sets = spawn([&] { return set.set(), 4; });
    return waits.join() + sleeps.join() + sets.join();
  });
  EXPECT_EQ(answer, 7);
}

}  // namespace
}  // namespace heddle::conformance
