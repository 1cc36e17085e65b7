#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <heddle/base/platform.hpp>
#include <heddle/make_runtime.hpp>

/// A runtime of the first combination that is linked in; the parameter is the number of workers.
class on_runtime : public ::testing::TestWithParam<unsigned> {
 protected:
  unsigned workers() const { return GetParam(); }
  heddle::runtime_base& runtime() { return *runtime_; }

  /// Calls `root` in a fiber, and expects that no timer is left behind.
  template <class Root>
  void run(Root root) {
    runtime_->run(std::move(root));
    EXPECT_EQ(runtime_->armed_timers(), 0U);
  }

 private:
  std::unique_ptr<heddle::runtime_base> runtime_ =
      heddle::make_runtime(heddle::combinations()[0].name, {.workers = workers()});
};

/// How often a stress test goes round: `full` times with HEDDLE_LONG in the environment, else
/// `usual` times, and a quarter of that under a sanitizer.
inline int rounds(int usual, int full) {
  if (std::getenv("HEDDLE_LONG") != nullptr) return full;
#if defined(HEDDLE_TSAN) || defined(HEDDLE_ASAN)
  return std::max(1, usual / 4);
#else
  return usual;
#endif
}

/// Waits, in a fiber, for what another fiber or thread does without telling.
template <class Condition>
void yield_until(Condition condition) {
  while (!condition()) heddle::this_fiber::yield();
}

/// A few hundred nanoseconds to microseconds of work, so that times meet differently each round.
inline void work(std::uint32_t steps) {
  for (std::uint32_t i = 0; i < steps; ++i) heddle::native::pause();
}

/// Starts `count` fibers that call `function(index)`, to be joined.
template <class F>
std::vector<heddle::join_handle<void>> spawn_many(int count, F function) {
  std::vector<heddle::join_handle<void>> fibers;
  for (int i = 0; i < count; ++i) fibers.push_back(heddle::spawn(function, i));
  return fibers;
}

inline void join_all(std::vector<heddle::join_handle<void>>& fibers) {
  for (heddle::join_handle<void>& fiber : fibers) fiber.join();
}
