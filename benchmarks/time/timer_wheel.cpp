#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include <heddle/time/timer_wheel.hpp>

namespace {

using heddle::timer;
using heddle::timer_wheel;

constexpr std::uint64_t start_ns = 1'000'000'000'000;
constexpr std::uint64_t second_ns = 1'000'000'000;

/// A wheel with `count` timers whose deadlines are spread over `spread_ns` from `first_ns` on.
class armed_wheel {
 public:
  armed_wheel(std::size_t count, std::uint64_t first_ns, std::uint64_t spread_ns)
      : count_(count), timers_(std::make_unique<timer[]>(count)) {
    for (std::size_t i = 0; i != count; ++i) insert(timers_[i], first_ns, spread_ns);
  }
  ~armed_wheel() {
    std::for_each_n(timers_.get(), count_, [&](timer& t) { wheel.remove(t); });
  }

  void insert(timer& timer, std::uint64_t first_ns, std::uint64_t spread_ns) {
    wheel.insert(timer, start_ns + first_ns + random_() % spread_ns);
  }

  timer& operator[](std::size_t index) { return timers_[index]; }

  timer_wheel wheel{start_ns};

 private:
  std::size_t count_;
  std::unique_ptr<timer[]> timers_;
  std::mt19937_64 random_{1};
};

std::size_t argument(const benchmark::State& state) {
  return static_cast<std::size_t>(state.range(0));
}

/// A read that completes before its time-out, among `range(0)` other pending ones.
void insert_and_remove(benchmark::State& state) {
  armed_wheel armed(argument(state), second_ns, 9 * second_ns);
  timer one;
  std::uint64_t now_ns = start_ns;
  for (auto _ : state) {
    armed.wheel.insert(one, now_ns + 5 * second_ns);
    benchmark::ClobberMemory();
    armed.wheel.remove(one);
    now_ns += 1'000;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(insert_and_remove)->Arg(0)->Arg(1'000)->Arg(1'000'000);

/// Each of `range(0)` connections, in an order unlike that of memory, gives up its time-out and
/// sets the next one: with many, the timer and both neighbours come from main memory.
void rearm_in_random_order(benchmark::State& state) {
  const std::size_t count = argument(state);
  armed_wheel armed(count, second_ns, 4 * second_ns);
  std::vector<std::uint32_t> order(count);
  for (std::size_t i = 0; i != count; ++i) order[i] = static_cast<std::uint32_t>(i);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  std::size_t next = 0;
  std::uint64_t now_ns = start_ns;
  for (auto _ : state) {
    timer& one = armed[order[next]];
    armed.wheel.remove(one);
    armed.wheel.insert(one, now_ns + 5 * second_ns);
    now_ns += 1'000;
    if (++next == count) next = 0;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(rearm_in_random_order)->Arg(1'000)->Arg(1'000'000);

/// All of `range(0)` timers expire within `range(1)` ns, in one advance a millisecond; the time of
/// an iteration is divided by the timers in the `items` rate.
void expire(benchmark::State& state) {
  const std::size_t count = argument(state);
  const auto spread_ns = static_cast<std::uint64_t>(state.range(1));
  for (auto _ : state) {
    state.PauseTiming();
    auto armed = std::make_unique<armed_wheel>(count, 1, spread_ns);
    std::size_t fired = 0;
    state.ResumeTiming();
    for (std::uint64_t now_ns = start_ns; fired != count; now_ns += 1'000'000)
      armed->wheel.advance(now_ns, [&](timer&) { ++fired; });
    state.PauseTiming();
    armed.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(expire)
    ->ArgNames({"timers", "spread_ns"})
    ->Args({1'000, 1'000'000})
    ->Args({1'000, 1'000'000'000})
    ->Args({1'000'000, 10'000'000'000});

/// The worst single advance: it only spreads a slot, full of `range(0)` timers, over lower levels.
void spread_one_slot(benchmark::State& state) {
  const std::size_t count = argument(state);
  for (auto _ : state) {
    state.PauseTiming();
    auto armed = std::make_unique<armed_wheel>(count, 10 * second_ns, second_ns / 10);
    const std::uint64_t next_ns = armed->wheel.next_deadline_ns();
    state.ResumeTiming();
    armed->wheel.advance(next_ns, [](timer&) {});
    state.PauseTiming();
    armed.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(spread_one_slot)->Arg(10'000)->Arg(1'000'000);

/// What each look of a worker at its timers costs when nothing is due.
void advance_with_nothing_due(benchmark::State& state) {
  armed_wheel armed(argument(state), 1'000'000 * second_ns, second_ns);
  std::uint64_t now_ns = start_ns;
  for (auto _ : state) {
    benchmark::DoNotOptimize(armed.wheel.advance(now_ns, [](timer&) {}));
    benchmark::DoNotOptimize(armed.wheel.next_deadline_ns());
    now_ns += 1'000;
  }
}
BENCHMARK(advance_with_nothing_due)->Arg(0)->Arg(1'000);

}  // namespace

BENCHMARK_MAIN();
