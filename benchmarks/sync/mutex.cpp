// The mutex of heddle beside that of Boost.Fiber, in the same program and under the same loads.
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <boost/fiber/algo/shared_work.hpp>
#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/mutex.hpp>
#include <boost/fiber/operations.hpp>

#include <heddle/make_runtime.hpp>
#include <heddle/sync/mutex.hpp>

namespace {

struct of_heddle {
  using mutex = heddle::mutex;
  static void yield() { heddle::this_fiber::yield(); }

  template <class F>
  static auto spawn(F function) {
    return heddle::spawn(std::move(function));
  }

  /// Calls `root` in a fiber of a scheduler of that many threads.
  template <class F>
  static void run(unsigned workers, F root) {
    heddle::make_runtime(heddle::combinations()[0].name, {.workers = workers})->run(root);
  }
};

struct of_boost {
  using mutex = boost::fibers::mutex;
  static void yield() { boost::this_fiber::yield(); }

  template <class F>
  static auto spawn(F function) {
    return boost::fibers::fiber(std::move(function));
  }

  template <class F>
  static void run(unsigned workers, F root) {
    boost::fibers::mutex lock;
    boost::fibers::condition_variable_any ended;
    bool done = false;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < workers; ++i) {
      threads.emplace_back([&, i] {
        if (workers > 1)
          boost::fibers::use_scheduling_algorithm<boost::fibers::algo::shared_work>(true);
        if (i == 0) {
          boost::fibers::fiber(root).join();
          std::unique_lock guard(lock);
          done = true;
          ended.notify_all();
        } else {
          std::unique_lock guard(lock);
          ended.wait(guard, [&] { return done; });
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

template <class Library>
void uncontended(benchmark::State& state) {
  Library::run(1, [&] {
    typename Library::mutex mutex;
    for (auto _ : state) {
      mutex.lock();
      benchmark::ClobberMemory();
      mutex.unlock();
    }
  });
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(uncontended<of_heddle>)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(uncontended<of_boost>)->MeasureProcessCPUTime()->UseRealTime();

void work(std::int64_t rounds) {
  for (std::int64_t i = 0; i < rounds; ++i) benchmark::DoNotOptimize(i);
}

/// `range(1)` fibers on `range(0)` workers: each locks, works for `range(2)` rounds of a loop,
/// unlocks, and works as long outside. With `range(3)` it yields while it holds the mutex, so that
/// the others come and wait. The items are sections.
template <class Library>
void contended(benchmark::State& state) {
  constexpr int sections = 20'000;
  const auto workers = static_cast<unsigned>(state.range(0));
  const auto fibers = static_cast<int>(state.range(1));
  const std::int64_t rounds = state.range(2);
  const bool yields = state.range(3) != 0;
  Library::run(workers, [&] {
    typename Library::mutex mutex;
    std::int64_t entered = 0;
    for (auto _ : state) {
      std::vector<decltype(Library::spawn([] {}))> started;
      for (int fiber = 0; fiber < fibers; ++fiber) {
        started.push_back(Library::spawn([&] {
          for (int i = 0; i < sections / fibers; ++i) {
            {
              std::lock_guard guard(mutex);
              ++entered;
              work(rounds);
              if (yields) Library::yield();
            }
            work(rounds);
          }
        }));
      }
      for (auto& fiber : started) fiber.join();
    }
    if (entered != state.iterations() * (sections / fibers) * fibers)
      state.SkipWithError("a section was lost");
  });
  state.SetItemsProcessed(state.iterations() * (sections / fibers) * fibers);
}

void loads(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"workers", "fibers", "rounds", "yields"})
      ->MeasureProcessCPUTime()
      ->UseRealTime();
  benchmark->Unit(benchmark::kMicrosecond);
  benchmark->Args({1, 8, 10, 1});
  benchmark->Args({2, 2, 10, 0})->Args({2, 8, 10, 0})->Args({2, 8, 1'000, 0});
  benchmark->Args({2, 8, 10, 1});
}
BENCHMARK(contended<of_heddle>)->Apply(loads);
BENCHMARK(contended<of_boost>)->Apply(loads);

}  // namespace

BENCHMARK_MAIN();
