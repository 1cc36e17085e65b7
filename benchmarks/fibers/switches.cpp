// Costs of a switch, and of a fiber's life, for every combination that is linked in and for
// Boost.Fiber in the same run. One worker: what is measured is the path, not contention.
#include <cstdio>
#include <string>

#include <benchmark/benchmark.h>
#include <boost/fiber/all.hpp>

#include <heddle/heddle.hpp>

namespace {

/// Runs `body(state)` in the root fiber of a runtime with one worker.
template <class Body>
void in_runtime(benchmark::State& state, std::string_view combination, Body body) {
  std::unique_ptr<heddle::runtime_base> runtime;
  try {
    runtime = heddle::make_runtime(combination, {.workers = 1});
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
    return;
  }
  runtime->run([&] { body(state); });
}

/// Two fibers take turns; one iteration is one yield of one of them, half a round trip.
void yield(benchmark::State& state, std::string_view combination) {
  in_runtime(state, combination, [](benchmark::State& state) {
    bool stop = false;
    auto other = heddle::spawn([&] {
      while (!stop) heddle::this_fiber::yield();
    });
    for (auto _ : state) heddle::this_fiber::yield();
    stop = true;
    other.join();
    // Each turn of this fiber was also one of the other's.
    state.SetItemsProcessed(2 * static_cast<std::int64_t>(state.iterations()));
    state.counters["ns_per_yield"] =
        benchmark::Counter(2.0 * static_cast<double>(state.iterations()) / 1e9,
                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  });
}

void spawn_join(benchmark::State& state, std::string_view combination) {
  in_runtime(state, combination, [](benchmark::State& state) {
    for (auto _ : state) heddle::spawn([] {}).join();
  });
}

void boost_yield(benchmark::State& state) {
  bool stop = false;
  boost::fibers::fiber other([&] {
    while (!stop) boost::this_fiber::yield();
  });
  for (auto _ : state) boost::this_fiber::yield();
  stop = true;
  other.join();
  state.counters["ns_per_yield"] =
      benchmark::Counter(2.0 * static_cast<double>(state.iterations()) / 1e9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void boost_spawn_join(benchmark::State& state) {
  for (auto _ : state) boost::fibers::fiber([] {}).join();
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::RegisterBenchmark("yield/boost-fiber", boost_yield);
  benchmark::RegisterBenchmark("spawn_join/boost-fiber", boost_spawn_join);
  for (const heddle::combination& one : heddle::combinations()) {
    const std::string name(one.name);
    const std::string_view immortal = one.name;
    benchmark::RegisterBenchmark(("yield/" + name).c_str(),
                                 [immortal](benchmark::State& state) { yield(state, immortal); });
    benchmark::RegisterBenchmark(
        ("spawn_join/" + name).c_str(),
        [immortal](benchmark::State& state) { spawn_join(state, immortal); });
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
