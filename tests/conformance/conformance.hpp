#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <heddle/heddle.hpp>

/// What the tests of the one combination that is linked into this binary share. Every wait is
/// bounded: a peer by its own time limits, a test as a whole by the watchdog.
namespace heddle::conformance {

using namespace std::chrono_literals;

/// By how much a sanitizer slows a run down: tests do less of what takes long ...
#if defined(HEDDLE_TSAN)
inline constexpr std::size_t slowdown = 20;
#elif defined(HEDDLE_ASAN)
inline constexpr std::size_t slowdown = 5;
#else
inline constexpr std::size_t slowdown = 1;
#endif
/// ... and a limit on time is this much wider.
inline constexpr int leniency = slowdown == 1 ? 1 : 4;

/// The count to use where `usual` fits an everyday run. `full`: the count that a field report
/// names, used when the environment says HEDDLE_LONG=1.
inline std::size_t scaled(std::size_t usual, std::size_t full = 0) {
  const char* wanted = std::getenv("HEDDLE_LONG");
  const bool all = full != 0 && wanted != nullptr && std::string_view(wanted) == "1";
  return std::max<std::size_t>(1, (all ? full : usual) / slowdown);
}

/// How long whoever waits for something that must come waits before it gives up.
inline constexpr std::chrono::seconds patience(20 * leniency);

/// Aborts the process when one test takes too long, and says which and what it waits for.
class watchdog final : public testing::EmptyTestEventListener {
 public:
  /// What the test waits for now; immortal.
  static std::atomic<const char*>& waits_for() {
    static std::atomic<const char*> text{nothing};
    return text;
  }

 private:
  static constexpr std::chrono::seconds limit{60 * leniency};
  static constexpr const char* nothing = "the end of the test";

  /// Never freed: the thread that watches outlives everything.
  struct state {
    std::mutex lock;
    std::string name;                           // guarded by lock
    std::chrono::steady_clock::time_point end;  // guarded by lock
  };

  void OnTestStart(const testing::TestInfo& test) override {
    const bool first = state_.name.empty();
    {
      std::lock_guard guard(state_.lock);
      state_.name = std::string(test.test_suite_name()) + "." + test.name();
      state_.end = std::chrono::steady_clock::now() + limit * (scaled(1, slowdown * 20));
      waits_for() = nothing;
    }
    if (first) std::thread([&watched = state_] { watch(watched); }).detach();
  }

  void OnTestEnd(const testing::TestInfo&) override {
    std::lock_guard guard(state_.lock);
    state_.end = std::chrono::steady_clock::time_point::max();
  }

  static void watch(state& watched) {
    for (;;) {
      std::this_thread::sleep_for(500ms);
      std::lock_guard guard(watched.lock);
      if (std::chrono::steady_clock::now() < watched.end) continue;
      std::fprintf(stderr, "watchdog: %s hangs: it waits for %s\n", watched.name.c_str(),
                   waits_for().load());
      std::abort();
    }
  }

  state& state_ = *new state;
};

inline const bool watched = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new watchdog);
  return true;
}();

/// Names what is waited for while it lives; the watchdog tells.
class waiting_for {
 public:
  explicit waiting_for(const char* what) : before_(watchdog::waits_for().exchange(what)) {}
  ~waiting_for() { watchdog::waits_for() = before_; }
  waiting_for(const waiting_for&) = delete;
  waiting_for& operator=(const waiting_for&) = delete;

 private:
  const char* const before_;
};

/// A runtime of the combination under test, with the tuning that HEDDLE_TUNING names, if any.
inline std::unique_ptr<runtime_base> make_runtime(unsigned workers, runtime_options options = {}) {
  options.workers = workers;
  if (const char* assignment = std::getenv("HEDDLE_TUNING")) options.tuning.set(assignment);
  return heddle::make_runtime(combinations()[0].name, std::move(options));
}

/// In a fiber of this thread's runtime, or not.
inline bool in_fiber() {
  worker* current = current_worker();
  return current != nullptr && current->running() != nullptr;
}

/// Looks until `condition()` holds, and lets others run between looks. Threads: any; in a fiber it
/// yields. False when patience ends.
template <class Condition>
[[nodiscard]] bool eventually(Condition condition, std::chrono::nanoseconds limit = patience) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    if (in_fiber()) {
      this_fiber::yield();
    } else {
      std::this_thread::sleep_for(100us);
    }
  }
  return true;
}

/// Keeps the thread, as a computation would, until `condition()` holds. False when patience ends.
template <class Condition>
bool spin_until(Condition condition, std::chrono::nanoseconds limit = patience) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    native::pause();
  }
  return true;
}

/// Set once; one fiber or plain thread waits for it.
class event {
 public:
  void set() {
    const std::uintptr_t before = state_.exchange(is_set, std::memory_order_acq_rel);
    if (before != unset && before != is_set) reinterpret_cast<waiter*>(before)->wake();
  }

  void wait() {
    waiter self;
    self.park([this](waiter& me) noexcept {
      std::uintptr_t expected = unset;
      return state_.compare_exchange_strong(expected, reinterpret_cast<std::uintptr_t>(&me),
                                            std::memory_order_acq_rel, std::memory_order_acquire);
    });
  }

  bool happened() const { return state_.load(std::memory_order_acquire) == is_set; }

 private:
  static constexpr std::uintptr_t unset = 0;
  static constexpr std::uintptr_t is_set = 1;
  std::atomic<std::uintptr_t> state_{unset};
};

/// The thread that runs the caller now. pthread_self is declared const: a compiler may keep its
/// answer across a suspension.
inline int thread_number() { return static_cast<int>(::syscall(SYS_gettid)); }

/// Returns on another worker than it was called on, without a suspension after the move.
/// Needs two workers. A helper keeps the worker busy, so that another one must take the caller.
inline void move_to_another_worker() {
  const unsigned start = current_worker()->index();
  const auto end = std::chrono::steady_clock::now() + patience;
  while (current_worker()->index() == start) {
    if (std::chrono::steady_clock::now() > end)
      throw std::runtime_error("no other worker took a fiber whose worker is busy");
    auto back = std::make_shared<std::atomic<bool>>(false);
    spawn([back] { spin_until([&] { return back->load(); }, 2s); });
    this_fiber::yield();
    back->store(true);
  }
}

/// A thread that runs no fibers. What it throws fails the test; it is joined at the end of its
/// scope.
class plain_thread {
 public:
  template <class F>
  explicit plain_thread(F work)
      : thread_([work = std::move(work)]() mutable {
          try {
            work();
          } catch (const std::exception& error) {
            ADD_FAILURE() << "a plain thread threw: " << error.what();
          }
        }) {}
  plain_thread(plain_thread&&) = default;
  ~plain_thread() { join(); }

  void join() {
    if (!thread_.joinable()) return;
    const waiting_for what("a plain thread to end");
    thread_.join();
  }

 private:
  std::thread thread_;
};

/// The error of `outcome` is `expected`.
template <class T>
testing::AssertionResult failed_with(const result<T>& outcome, std::errc expected) {
  if (outcome.error() == expected) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "expected: " << std::make_error_code(expected).message()
         << ", got: " << (outcome ? std::string("a value") : outcome.error().message());
}

/// `outcome` has a value.
template <class T>
testing::AssertionResult succeeded(const result<T>& outcome) {
  if (outcome) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "failed: " << outcome.error().message();
}

/// Nothing is left of what ran.
inline void expect_quiet(runtime_base& runtime) {
  EXPECT_EQ(runtime.live_fibers(), 0u);
  EXPECT_EQ(runtime.armed_timers(), 0u);
}

inline std::size_t open_descriptors() {
  namespace fs = std::filesystem;
  const fs::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(fs::begin(files), fs::end(files))) - 1;
}

/// How long `work` takes.
template <class F>
std::chrono::nanoseconds time_of(F work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::steady_clock::now() - start;
}

/// Processor time of the whole process.
inline std::chrono::nanoseconds processor_time() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

inline double milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

/// 99 of 100 times lie below `limit`, and none is so long that no load of the machine explains it.
inline void expect_nearly_all_below(std::chrono::nanoseconds limit,
                                    std::vector<std::chrono::nanoseconds> times) {
  ASSERT_FALSE(times.empty());
  std::sort(times.begin(), times.end());
  const std::size_t spared = std::max<std::size_t>(1, times.size() / 100);
  EXPECT_LT(milliseconds(times[times.size() - 1 - spared]), milliseconds(limit) * leniency)
      << "p99 of " << times.size() << " times, ms; longest " << milliseconds(times.back());
  EXPECT_LT(milliseconds(times.back()), 2000.0 * leniency)
      << "the longest of " << times.size() << " times, ms";
}

}  // namespace heddle::conformance
