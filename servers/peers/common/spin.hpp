#pragma once

#include <chrono>
#include <cstdint>

namespace peers {

/// Keeps the processor busy for so long by the wall clock.
inline void spin_ns(std::uint64_t duration_ns) {
  if (duration_ns == 0) return;
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(duration_ns);
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace peers
