#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace heddle::explore {

inline constexpr unsigned most_threads = 8;

/// Which events of each thread happen before a point; each thread counts its events from 1.
struct vector_clock {
  std::array<std::uint32_t, most_threads> at{};

  void join(const vector_clock& other) noexcept {
    for (unsigned thread = 0; thread < most_threads; ++thread) {
      at[thread] = std::max(at[thread], other.at[thread]);
    }
  }

  bool knows(unsigned thread, std::uint32_t time) const noexcept { return at[thread] >= time; }
};

}  // namespace heddle::explore
