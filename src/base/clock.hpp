#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include <time.h>

namespace heddle {

/// Nanoseconds of the monotonic clock; what every deadline is compared with.
inline std::uint64_t now_ns() noexcept {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

inline constexpr std::uint64_t never_ns = std::numeric_limits<std::uint64_t>::max();

/// A cheap counter of elapsed time, of unknown rate and only for "has this lasted too long".
inline std::uint64_t cycle_count() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_ia32_rdtsc();
#else
  return now_ns();
#endif
}

/// cycle_count() that no instruction before or after it passes, for timing a few instructions. It
/// costs more than they do: measure its cost and subtract it.
inline std::uint64_t ordered_cycle_count() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_lfence();
  const std::uint64_t count = __builtin_ia32_rdtsc();
  __builtin_ia32_lfence();
  return count;
#else
  return now_ns();
#endif
}

/// Counts of cycle_count() in a microsecond, measured once.
std::uint64_t cycles_per_us() noexcept;

/// When an operation gives up: never, at a time point, or a duration after it first has to wait. A
/// duration costs no look at the clock unless the operation waits.
///
/// Durations of zero or less, and time points in the past, give up at once if the operation cannot
/// be done without waiting. Values too large for the clock mean never.
class deadline {
 public:
  constexpr deadline() = default;

  template <class Rep, class Period>
  deadline(std::chrono::duration<Rep, Period> after) : relative_(true), ns_(clamped(after)) {}

  template <class Duration>
  deadline(std::chrono::time_point<std::chrono::steady_clock, Duration> at)
      : ns_(clamped(at.time_since_epoch())) {}

  static constexpr deadline never() { return {}; }

  bool is_never() const noexcept { return ns_ == never_ns; }

  /// The time of now_ns() at which to give up, never_ns for never. Fixes a duration at its first
  /// call, so that the steps of one operation share one deadline.
  std::uint64_t at_ns() noexcept {
    if (relative_) {
      relative_ = false;
      if (ns_ == 0 || ns_ == never_ns) return ns_;
      const std::uint64_t now = now_ns();
      ns_ = ns_ > never_ns - now ? never_ns : ns_ + now;
    }
    return ns_;
  }

 private:
  template <class Rep, class Period>
  static std::uint64_t clamped(std::chrono::duration<Rep, Period> time) {
    using seconds = std::chrono::duration<long double>;
    const long double value = seconds(time).count() * 1e9L;
    if (!(value > 0)) return 0;
    // 2^62 ns are 146 years.
    if (value >= 4.611686018427388e18L) return never_ns;
    return static_cast<std::uint64_t>(value);
  }

  bool relative_ = false;
  std::uint64_t ns_ = never_ns;
};

}  // namespace heddle
