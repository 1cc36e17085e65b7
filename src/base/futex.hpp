#pragma once

#include <atomic>
#include <cstdint>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <heddle/base/clock.hpp>

namespace heddle {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

/// Sleeps while `word` is `expected`, until the time at most; may return early, so the caller looks
/// again.
inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::uint64_t at_ns = never_ns) noexcept {
  constexpr std::uint64_t second_ns = 1'000'000'000;
  const timespec until{.tv_sec = static_cast<time_t>(at_ns / second_ns),
                       .tv_nsec = static_cast<long>(at_ns % second_ns)};
  // The bitset form takes a time of CLOCK_MONOTONIC, the plain one a duration.
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
          at_ns == never_ns ? nullptr : &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

/// Wakes up to `most` threads that sleep at that address. The word itself is not touched and may be
/// gone; at worst another sleeper at the same address looks at its word for nothing.
inline void futex_wake(const std::atomic<std::uint32_t>* word, int most) noexcept {
  syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, most, nullptr, nullptr, 0);
}

}  // namespace heddle
