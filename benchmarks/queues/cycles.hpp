#pragma once

#include <cstdint>

#include <heddle/base/clock.hpp>

namespace heddle::bench {

/// The time-stamp counter in nanoseconds, and what reading it costs; all measured by the
/// constructor, which takes about 2 ms.
class cycle_clock {
 public:
  cycle_clock();

  double ns_per_cycle() const { return ns_per_cycle_; }
  double ns(std::uint64_t cycles) const { return static_cast<double>(cycles) * ns_per_cycle_; }

  /// Median distance of two ordered_cycle_count() in a row: what a sample holds beside its call.
  std::uint64_t timer_cost_cycles() const { return timer_cost_cycles_; }

 private:
  double ns_per_cycle_;
  std::uint64_t timer_cost_cycles_;
};

/// Stands for the work between two operations of a thread: looks at the counter until its time is
/// over. It touches no memory.
class thinker {
 public:
  /// Measures itself and shortens its wait by its own cost.
  thinker(const cycle_clock& clock, double asked_ns);

  void operator()() const {
    if (cycles_ == 0) return;
    const std::uint64_t start = cycle_count();
    while (cycle_count() - start < cycles_) continue;
  }

  /// What one call really takes, alone on its processor.
  double measured_ns() const { return measured_ns_; }

 private:
  double measure_ns(const cycle_clock& clock) const;

  std::uint64_t cycles_ = 0;
  double measured_ns_ = 0;
};

}  // namespace heddle::bench
