#include <atomic>
#include <csignal>
#include <vector>

#include "peer.hpp"

namespace heddle::conformance {
namespace {

TEST(stop, ends_accepts_reads_and_sleeps_with_operation_canceled) {
  auto runtime = make_runtime(2);
  std::atomic<int> canceled{0};
  const auto expect_canceled = [&](std::error_code error) {
    EXPECT_EQ(error, std::errc::operation_canceled) << error.message();
    ++canceled;
  };
  const auto time = time_of([&] {
    runtime->run([&] {
      const std::uint64_t waits = runtime->stats().suspended_reads;
      auto listening = std::make_shared<listener>(listen_on_loopback());
      auto pair = std::make_shared<connection>(connect_pair());
      spawn([=] { expect_canceled(listening->accept().error()); });
      const auto read = [=](socket& from, deadline limit) {
        std::array<std::byte, 8> buffer;
        expect_canceled(from.read(buffer, limit).error());
      };
      spawn([=] { read(pair->near, {}); });
      spawn([=] { read(pair->far, 1h); });
      spawn([=] { expect_canceled(sleep_for(1h).error()); });
      EXPECT_TRUE(eventually([&] { return runtime->stats().suspended_reads >= waits + 3; }));
      runtime->request_stop();
    });
  });
  EXPECT_EQ(canceled, 4);
  EXPECT_LT(milliseconds(time), 1000.0 * leniency);
  expect_quiet(*runtime);
}

TEST(stop, lets_fibers_finish_what_needs_no_wait_and_refuses_what_does) {
  auto runtime = make_runtime(2);
  runtime->run([&] {
    listener listening = listen_on_loopback();
    connection pair = connect_pair();
    EXPECT_TRUE(succeeded(pair.near.write_all(bytes_of("last words"))));
    EXPECT_EQ(read_exactly(pair.far, 5), "last ");
    runtime->request_stop();
    this_fiber::yield();
    EXPECT_EQ(read_exactly(pair.far, 5), "words");
    EXPECT_TRUE(succeeded(pair.far.write_all(bytes_of("reply"))));
    EXPECT_EQ(read_exactly(pair.near, 5), "reply");
    std::array<std::byte, 8> buffer;
    EXPECT_TRUE(
        eventually([&] { return sleep_for(1us).error() == std::errc::operation_canceled; }));
    EXPECT_TRUE(failed_with(pair.far.read(buffer), std::errc::operation_canceled));
    EXPECT_TRUE(failed_with(listening.accept(), std::errc::operation_canceled));
    EXPECT_EQ(spawn([] { return 5; }).join(), 5);
  });
  expect_quiet(*runtime);
}

/// Runs `begin(runtime)` beside a server under load; it must lead to a stop.
template <class Begin>
void expect_soon_stopped_under_load(Begin begin) {
  const std::size_t before = open_descriptors();
  auto runtime = make_runtime(2);
  std::atomic<std::size_t> answers{0};
  std::atomic<bool> over{false};
  std::chrono::steady_clock::time_point asked;
  std::vector<plain_thread> clients;
  runtime->run([&] {
    listener listening = listen_on_loopback();
    const endpoint address = listening.local_endpoint().value();
    for (int i = 0; i < 2; ++i) {
      clients.emplace_back([&, address] {
        try {
          while (!over) {
            peer client(address);
            for (int k = 0; k < 100 && client.ask("hello") == "hello"; ++k) ++answers;
          }
        } catch (const std::system_error&) {
          // The server ended the connection, as it should.
        }
      });
    }
    for (int i = 0; i < 50; ++i) spawn([] { static_cast<void>(sleep_for(1h)); });
    spawn([&] {
      EXPECT_TRUE(eventually([&] { return answers > 200; }));
      asked = std::chrono::steady_clock::now();
      begin(*runtime);
    });
    while (auto client = listening.accept()) spawn(echo, std::move(*client));
  });
  const auto took = std::chrono::steady_clock::now() - asked;
  over = true;
  clients.clear();
  EXPECT_LT(milliseconds(took), 1000.0 * leniency);
  expect_quiet(*runtime);
  runtime.reset();
  EXPECT_EQ(open_descriptors(), before);
}

TEST(stop, from_a_fiber_ends_a_server_under_load_soon_and_leaks_nothing) {
  for (int i = 0; i < 10; ++i)
    expect_soon_stopped_under_load([](runtime_base& runtime) { runtime.request_stop(); });
}

TEST(stop, from_a_plain_thread_does_so_too) {
  for (int i = 0; i < 10; ++i) {
    expect_soon_stopped_under_load(
        [](runtime_base& runtime) { plain_thread([&] { runtime.request_stop(); }); });
  }
}

std::atomic<runtime_base*> runtime_of_handler{nullptr};

TEST(stop, from_a_signal_handler_does_so_too) {
  struct sigaction stops {};
  struct sigaction before {};
  stops.sa_handler = [](int) { runtime_of_handler.load()->request_stop(); };
  ::sigaction(SIGUSR1, &stops, &before);
  for (int i = 0; i < 10; ++i) {
    expect_soon_stopped_under_load([](runtime_base& runtime) {
      runtime_of_handler = &runtime;
#if defined(HEDDLE_TSAN)
      // ThreadSanitizer holds a signal back until its fiber makes a call that it intercepts, and
      // forgets it when the fiber ends before: a thread without fibers takes it at once.
      plain_thread([] { ::raise(SIGUSR1); });
#else
      ::kill(::getpid(), SIGUSR1);
#endif
    });
  }
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(stop, that_was_requested_before_the_run_ends_it) {
  auto runtime = make_runtime(2);
  runtime->request_stop();
  runtime->run([] {
    EXPECT_TRUE(eventually([] { return sleep_for(1ms).error() == std::errc::operation_canceled; }));
    EXPECT_TRUE(failed_with(sleep_for(1h), std::errc::operation_canceled));
  });
  // It ended that run, and no other.
  runtime->run([] { EXPECT_TRUE(succeeded(sleep_for(1ms))); });
}

TEST(stop, requested_over_and_over_does_no_harm) {
  auto runtime = make_runtime(3);
  std::chrono::nanoseconds longest{};
  for (std::size_t i = 0; i < scaled(200); ++i) {
    std::atomic<bool> over{false};
    std::atomic<int> slept{0};
    plain_thread stopper([&] {
      do runtime->request_stop();
      while (!over);
    });
    longest =
        std::max(longest, time_of([&] {
                   EXPECT_NO_THROW(runtime->run([&] {
                     for (int k = 0; k < 5; ++k) {
                       spawn([&] {
                         EXPECT_TRUE(failed_with(sleep_for(1h), std::errc::operation_canceled));
                         ++slept;
                       });
                     }
                   }));
                 }));
    over = true;
    ASSERT_EQ(slept, 5) << "in run " << i;
  }
  EXPECT_LT(milliseconds(longest), 500.0 * leniency);
  runtime->run([] {});  // takes a stop that came late
  runtime->run([] { EXPECT_TRUE(succeeded(sleep_for(1ms))); });
  expect_quiet(*runtime);
}

TEST(stop, that_meets_the_start_of_a_run_ends_it_at_once) {
  auto runtime = make_runtime(3);
  std::chrono::nanoseconds longest{};
  for (std::size_t i = 0; i < scaled(1000); ++i) {
    std::atomic<bool> runs{false};
    plain_thread stopper([&] {
      while (!runs) native::pause();
      for (std::size_t k = 0; k < i; ++k) native::pause();
      runtime->request_stop();
    });
    longest = std::max(
        longest, time_of([&] {
          runs = true;
          runtime->run([&] {
            for (int k = 0; k < 5; ++k) {
              spawn([] { EXPECT_TRUE(failed_with(sleep_for(1h), std::errc::operation_canceled)); });
            }
          });
        }));
  }
  EXPECT_LT(milliseconds(longest), 500.0 * leniency);
  expect_quiet(*runtime);
}

TEST(stop, lets_the_runtime_run_again_with_everything_it_could) {
  auto runtime = make_runtime(2);
  for (std::size_t i = 0; i < scaled(100); ++i) {
    runtime->run([&] {
      connection pair = connect_pair();
      std::array<std::byte, 8> buffer;
      auto reader = spawn([&] { return read_exactly(pair.far, 5); });
      EXPECT_TRUE(succeeded(sleep_for(50us)));
      EXPECT_TRUE(succeeded(pair.near.write_all(bytes_of("again"))));
      EXPECT_EQ(reader.join(), "again");
      EXPECT_TRUE(failed_with(pair.far.read(buffer, 100us), std::errc::timed_out));
      runtime->request_stop();
    });
    expect_quiet(*runtime);
  }
}

TEST(stop, that_waits_for_a_busy_worker_does_not_burn_the_others) {
  auto runtime = make_runtime(3);
  std::chrono::nanoseconds used{};
  runtime->run([&] {
    runtime->request_stop();
    const auto before = processor_time();
    std::this_thread::sleep_for(400ms);  // holds its worker, as a call that blocks does
    used = processor_time() - before;
  });
  EXPECT_LT(milliseconds(used), 100.0 * leniency);
}

TEST(stop, that_waits_for_a_stuck_write_does_not_burn_the_workers) {
  runtime_options options;
  options.drain_limit = 400ms;
  auto runtime = make_runtime(2, std::move(options));
  const std::string data(16 << 20, 'x');
  std::chrono::nanoseconds used{};
  runtime->run([&] {
    connection pair = connect_pair();
    auto writer = spawn([&] { return pair.near.write_all(bytes_of(data), 300ms).error(); });
    runtime->request_stop();
    const auto before = processor_time();
    EXPECT_EQ(writer.join(), std::errc::timed_out);
    used = processor_time() - before;
  });
  EXPECT_LT(milliseconds(used), 100.0 * leniency);
  expect_quiet(*runtime);
}

/// A run whose fiber `ignores` the stop ends after the drain limit and says whom it left.
template <class Ignores>
void expect_abandoned(Ignores ignores, unsigned workers) {
  runtime_options options;
  options.drain_limit = 100ms;
  auto runtime = make_runtime(workers, std::move(options));
  std::uint64_t id = 0;
  testing::internal::CaptureStderr();
  const auto time = time_of([&] {
    const waiting_for what("run() to abandon a fiber that ignores a stop");
    runtime->run([&] {
      id = spawn([&] {
             this_fiber::set_name("the stubborn one");
             ignores();
           }).id();
      EXPECT_TRUE(succeeded(sleep_for(1ms)));
      runtime->request_stop();
    });
  });
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_GE(time, 100ms);
  EXPECT_LT(milliseconds(time), 1000.0 * leniency);
  EXPECT_NE(text.find("1 fiber"), std::string::npos) << text;
  EXPECT_NE(text.find(" " + std::to_string(id) + " (the stubborn one)"), std::string::npos) << text;
  EXPECT_EQ(runtime->live_fibers(), 1u);
  EXPECT_THROW(runtime->run([] {}), std::logic_error);
}

TEST(stop, abandons_by_name_a_fiber_that_waits_for_what_never_comes) {
  for (const unsigned workers : {1u, 2u}) {
    event never;
    expect_abandoned([&] { never.wait(); }, workers);
  }
}

TEST(stop, abandons_by_name_a_fiber_that_yields_for_ever) {
  for (const unsigned workers : {1u, 2u}) {
    expect_abandoned(
        [] {
          for (;;) this_fiber::yield();
        },
        workers);
  }
}

TEST(stop, abandons_by_name_a_fiber_that_tries_canceled_calls_for_ever) {
  for (const unsigned workers : {1u, 2u}) {
    expect_abandoned(
        [] {
          listener listening = listen_on_loopback();
          for (;;) static_cast<void>(listening.accept());
        },
        workers);
    expect_abandoned(
        [] {
          for (;;) static_cast<void>(sleep_for(1ms));
        },
        workers);
  }
}

// Worker exit with operations in flight: a write to a peer that never reads.
TEST(stop, abandons_by_name_a_fiber_whose_write_is_stuck) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const std::string data(16 << 20, 'x');
        connection pair;  // outlives the runtime
        expect_abandoned(
            [&] {
              pair = connect_pair();
              static_cast<void>(pair.near.write_all(bytes_of(data)));
            },
            2);
        // Another runtime is not disturbed by what the first left behind ...
        auto next = make_runtime(2);
        next->run([&] {
          EXPECT_TRUE(succeeded(sleep_for(1ms)));
          EXPECT_FALSE(read_exactly(pair.far, 100'000).empty());
          next->request_stop();
        });
        // ... and the sockets can still be closed.
        EXPECT_TRUE(succeeded(pair.far.close()));
        EXPECT_TRUE(succeeded(pair.near.close()));
        std::_Exit(testing::Test::HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace heddle::conformance
