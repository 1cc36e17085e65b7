#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "peer.hpp"

namespace heddle::conformance {
namespace {

using steady = std::chrono::steady_clock;

TEST(timers, sleepers_wake_in_the_order_of_their_deadlines_and_never_early) {
  auto runtime = make_runtime(1);
  std::vector<int> order;
  runtime->run([&] {
    const auto start = steady::now();
    for (const int delay : {9, 3, 6, 1, 12}) {
      spawn([&order, start, delay] {
        EXPECT_TRUE(succeeded(sleep_until(start + delay * 1ms)));
        EXPECT_GE(steady::now() - start, delay * 1ms);
        order.push_back(delay);
      });
    }
  });
  // Of those that a late look finds due together, this queue may run any of its 16 oldest first.
  if (combinations()[0].queue == "xenium-kfifo") std::sort(order.begin(), order.end());
  EXPECT_EQ(order, (std::vector<int>{1, 3, 6, 9, 12}));
  expect_quiet(*runtime);
}

TEST(timers, an_idle_runtime_wakes_sleepers_on_time) {
  auto runtime = make_runtime(2);
  std::vector<std::chrono::nanoseconds> late;
  runtime->run([&] {
    for (int i = 0; i < 200; ++i) {
      const auto target = steady::now() + std::chrono::microseconds(100 + i * 10);
      EXPECT_TRUE(succeeded(sleep_until(target)));
      late.push_back(steady::now() - target);
    }
  });
  std::sort(late.begin(), late.end());
  EXPECT_GE(late.front(), 0ns);
  EXPECT_LT(milliseconds(late[late.size() / 2]), 2.0 * leniency);
}

TEST(timers, a_thousand_sleepers_all_wake) {
  auto runtime = make_runtime(2);
  std::atomic<int> woken{0};
  runtime->run([&] {
    for (int i = 0; i < 1000; ++i) {
      spawn([&, i] {
        EXPECT_TRUE(succeeded(sleep_for(std::chrono::microseconds(i * 37 % 5000))));
        ++woken;
      });
    }
  });
  EXPECT_EQ(woken, 1000);
  expect_quiet(*runtime);
}

// Field report 10: go#36202, tokio#3551.
TEST(timers, a_sleep_of_nothing_or_less_returns_at_once_and_lets_others_run) {
  auto runtime = make_runtime(1);
  runtime->run([] {
    bool other_ran = false;
    auto other = spawn([&] { other_ran = true; });
    const auto time = time_of([] {
      EXPECT_TRUE(succeeded(sleep_for(0s)));
      EXPECT_TRUE(succeeded(sleep_for(-1ns)));
      EXPECT_TRUE(succeeded(sleep_for(std::chrono::hours::min())));
      EXPECT_TRUE(succeeded(sleep_for(std::chrono::nanoseconds::min())));
      EXPECT_TRUE(succeeded(sleep_until(steady::now() - 1h)));
      EXPECT_TRUE(succeeded(sleep_until(steady::time_point::min())));
      EXPECT_TRUE(succeeded(sleep_for(std::chrono::duration<double>(-1e300))));
    });
    EXPECT_LT(milliseconds(time), 100.0 * leniency);
    EXPECT_TRUE(other_ran);
  });
  expect_quiet(*runtime);
}

TEST(timers, a_huge_sleep_means_never_and_ends_with_a_stop) {
  auto runtime = make_runtime(2);
  std::atomic<int> canceled{0};
  runtime->run([&] {
    const auto sleeper = [&](deadline limit) {
      spawn([&, limit] {
        EXPECT_TRUE(failed_with(heddle::sleep(limit), std::errc::operation_canceled));
        ++canceled;
      });
    };
    sleeper(deadline::never());
    sleeper(std::chrono::hours::max());
    sleeper(std::chrono::nanoseconds::max());
    sleeper(steady::time_point::max());
    sleeper(std::chrono::duration<double>(std::numeric_limits<double>::infinity()));
    sleeper(std::chrono::years(100));
    sleeper(1h);
    EXPECT_TRUE(eventually([&] { return runtime->armed_timers() >= 6; }));
    EXPECT_TRUE(succeeded(sleep_for(5ms)));
    EXPECT_EQ(canceled, 0);
    runtime->request_stop();
  });
  EXPECT_EQ(canceled, 7);
  expect_quiet(*runtime);
}

// Field report 12: helio#299.
TEST(timers, fifty_fibers_that_yield_do_not_keep_a_sleeper_waiting) {
  auto runtime = make_runtime(1);
  std::vector<std::chrono::nanoseconds> late;
  std::atomic<bool> over{false};
  runtime->run([&] {
    for (int i = 0; i < 50; ++i) {
      spawn([&] {
        while (!over) this_fiber::yield();
      });
    }
    for (int i = 0; i < 100; ++i) {
      // The worker is never idle, so its processor time passes as the clock does, but for what the
      // machine gives to other programs.
      const auto start = processor_time();
      EXPECT_TRUE(succeeded(sleep_for(10ms)));
      late.push_back(processor_time() - start - 10ms);
    }
    over = true;
  });
  expect_nearly_all_below(20ms, late);
}

TEST(timers, a_read_with_a_deadline_that_has_passed_times_out_at_once_without_data) {
  auto runtime = make_runtime(2);
  runtime->run([] {
    connection pair = connect_pair();
    std::array<std::byte, 16> buffer;
    const deadline limits[] = {0s,
                               -1s,
                               std::chrono::hours::min(),
                               std::chrono::nanoseconds::min(),
                               steady::now() - 1h,
                               steady::time_point::min(),
                               steady::time_point{},
                               std::chrono::duration<double>(-1e300)};
    for (const deadline& limit : limits) {
      const auto time = time_of(
          [&] { EXPECT_TRUE(failed_with(pair.far.read(buffer, limit), std::errc::timed_out)); });
      EXPECT_LT(milliseconds(time), 100.0 * leniency);
    }
    // What can be done without waiting is done.
    ASSERT_TRUE(succeeded(pair.near.write_all(bytes_of("12345678"))));
    for (const deadline& limit : limits)
      EXPECT_TRUE(eventually(
          [&] { return pair.far.read(std::span(buffer).first(1), limit).value_or(0) == 1; }));
  });
  expect_quiet(*runtime);
}

TEST(timers, a_read_with_a_deadline_too_far_to_count_waits_for_its_data) {
  auto runtime = make_runtime(2);
  runtime->run([] {
    connection pair = connect_pair();
    const deadline limits[] = {deadline::never(),
                               std::chrono::hours::max(),
                               std::chrono::nanoseconds::max(),
                               steady::time_point::max(),
                               std::chrono::duration<double>(1e300),
                               std::chrono::years(100)};
    for (const deadline& limit : limits) {
      auto reader = spawn([&] {
        std::array<std::byte, 16> buffer;
        return pair.far.read(buffer, limit);
      });
      EXPECT_TRUE(succeeded(sleep_for(2ms)));
      EXPECT_FALSE(reader.finished());
      EXPECT_TRUE(succeeded(pair.near.write(bytes_of("x"))));
      EXPECT_EQ(reader.join().value_or(0), 1u);
    }
  });
  expect_quiet(*runtime);
}

TEST(timers, data_that_comes_after_a_time_out_is_read_by_the_next_read) {
  auto runtime = make_runtime(2);
  runtime->run([] {
    connection pair = connect_pair();
    std::array<std::byte, 16> buffer{};
    for (int i = 0; i < 20; ++i) {
      const auto time = time_of(
          [&] { EXPECT_TRUE(failed_with(pair.far.read(buffer, 3ms), std::errc::timed_out)); });
      EXPECT_GE(time, 3ms);
      ASSERT_TRUE(succeeded(pair.near.write(bytes_of(std::string(1, static_cast<char>(i))))));
      EXPECT_EQ(pair.far.read(buffer, patience).value_or(0), 1u);
      EXPECT_EQ(buffer[0], static_cast<std::byte>(i));
    }
  });
  expect_quiet(*runtime);
}

// Field report 9: marl#71, with a read instead of a condition.
TEST(timers, a_deadline_that_meets_the_data_gives_one_result_and_loses_no_byte) {
  auto runtime = make_runtime(2);
  std::atomic<int> expired{0};
  runtime->run([&] {
    for (int pairs = 0; pairs < 16; ++pairs) {
      spawn([&, pairs] {
        connection pair = connect_pair();
        auto writer = spawn([&] {
          for (int i = 0; i < 60; ++i) {
            EXPECT_TRUE(
                succeeded(sleep_for(std::chrono::microseconds(900 + (i * 7 + pairs) % 200))));
            EXPECT_TRUE(succeeded(pair.near.write(bytes_of(std::string(1, static_cast<char>(i))))));
          }
        });
        std::array<std::byte, 1> byte;
        for (int i = 0; i < 60;) {
          const auto got = pair.far.read(byte, 1ms);
          if (got) {
            EXPECT_EQ(*got, 1u);
            EXPECT_EQ(byte[0], static_cast<std::byte>(i));
            ++i;
          } else {
            EXPECT_TRUE(failed_with(got, std::errc::timed_out));
            ++expired;
          }
        }
        writer.join();
      });
    }
  });
  EXPECT_GT(expired, 0);
  expect_quiet(*runtime);
}

// Field report 11: brpc#3383.
TEST(timers, operations_that_finish_leave_no_deadline_armed) {
  auto runtime = make_runtime(2);
  const std::size_t each = scaled(2000, 500'000);
  runtime->run([&] {
    std::vector<join_handle<void>> all;
    for (int pairs = 0; pairs < 10; ++pairs) {
      all.push_back(spawn([&] {
        connection pair = connect_pair();
        auto answers = spawn([&] {
          std::array<std::byte, 1> byte;
          while (pair.far.read(byte, 1h).value_or(0) == 1)
            EXPECT_TRUE(succeeded(pair.far.write(byte, 1h)));
        });
        std::array<std::byte, 1> byte{};
        for (std::size_t i = 0; i < each; ++i) {
          EXPECT_TRUE(succeeded(pair.near.write(byte, 1h)));
          EXPECT_EQ(pair.near.read(byte, 1h).value_or(0), 1u);
        }
        EXPECT_TRUE(succeeded(pair.near.close()));
        answers.join();
      }));
    }
    for (auto& one : all) one.join();
    EXPECT_EQ(runtime->armed_timers(), 0u);
  });
  const counter_values stats = runtime->stats();
  EXPECT_EQ(stats.timers_armed, stats.timers_cancelled + stats.timer_fires);
}

TEST(timers, thousands_of_deadlines_that_expire_at_once_all_do) {
  auto runtime = make_runtime(2);
  const std::size_t count = std::min<std::size_t>(scaled(4000), 4000);
  std::atomic<std::size_t> expired{0};
  runtime->run([&] {
    std::vector<connection> pairs;
    for (std::size_t i = 0; i < count / 2; ++i) pairs.push_back(connect_pair());
    const auto when = steady::now() + 50ms;
    std::vector<join_handle<void>> readers;
    for (connection& pair : pairs) {
      for (socket* side : {&pair.near, &pair.far}) {
        readers.push_back(spawn([&expired, side, when] {
          std::array<std::byte, 1> byte;
          if (side->read(byte, when).error() == std::errc::timed_out) ++expired;
        }));
      }
    }
    for (auto& reader : readers) reader.join();
  });
  EXPECT_EQ(expired, count / 2 * 2);
  expect_quiet(*runtime);
}

}  // namespace
}  // namespace heddle::conformance
