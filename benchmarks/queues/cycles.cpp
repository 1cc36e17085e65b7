#include "cycles.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace heddle::bench {
namespace {

/// Both clocks at one moment: of several readings the one in which the least time passed.
struct moment {
  std::uint64_t time_ns = 0;
  std::uint64_t cycles = 0;
};

moment now() {
  moment best;
  std::uint64_t least_ns = never_ns;
  for (int reading = 0; reading < 9; ++reading) {
    const std::uint64_t before_ns = now_ns();
    const std::uint64_t cycles = ordered_cycle_count();
    const std::uint64_t after_ns = now_ns();
    if (after_ns - before_ns >= least_ns) continue;
    least_ns = after_ns - before_ns;
    best = {before_ns + least_ns / 2, cycles};
  }
  return best;
}

template <class Array>
auto median_of(Array& values) {
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

cycle_clock::cycle_clock() {
  // The readings are some 20 ns uncertain: over 2 ms that is one part in 100,000.
  const moment start = now();
  while (now_ns() - start.time_ns < 2'000'000) continue;
  const moment end = now();
  ns_per_cycle_ = static_cast<double>(end.time_ns - start.time_ns) /
                  static_cast<double>(std::max<std::uint64_t>(1, end.cycles - start.cycles));
  std::array<std::uint64_t, 501> costs;
  for (std::uint64_t& cost : costs) {
    const std::uint64_t before = ordered_cycle_count();
    cost = ordered_cycle_count() - before;
  }
  timer_cost_cycles_ = median_of(costs);
}

thinker::thinker(const cycle_clock& clock, double asked_ns) {
  if (asked_ns > 0) {
    const auto asked_cycles = static_cast<std::uint64_t>(asked_ns / clock.ns_per_cycle());
    cycles_ = std::max<std::uint64_t>(1, asked_cycles);
    const double excess_cycles = (measure_ns(clock) - asked_ns) / clock.ns_per_cycle();
    const auto shorter = static_cast<double>(cycles_) - std::max(0.0, excess_cycles);
    cycles_ = static_cast<std::uint64_t>(std::max(1.0, std::round(shorter)));
  }
  measured_ns_ = measure_ns(clock);
}

double thinker::measure_ns(const cycle_clock& clock) const {
  // An interrupted batch only takes longer, and any share of them may be: the shortest tells. A
  // batch is short, for an interrupt to miss it, yet long beside the counter's own resolution.
  const double wait_ns = std::max(1.0, clock.ns(cycles_));
  const int calls = static_cast<int>(std::clamp(5'000 / wait_ns, 1.0, 32.0));
  std::uint64_t least_cycles = std::numeric_limits<std::uint64_t>::max();
  for (int batch = 0; batch < 101; ++batch) {
    const std::uint64_t before = ordered_cycle_count();
    for (int call = 0; call < calls; ++call) {
      (*this)();
      asm volatile("" ::: "memory");
    }
    least_cycles = std::min(least_cycles, ordered_cycle_count() - before);
  }
  return clock.ns(least_cycles - std::min(least_cycles, clock.timer_cost_cycles())) / calls;
}

}  // namespace heddle::bench
