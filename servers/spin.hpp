#pragma once

#include <cstdint>

#include <heddle/base/clock.hpp>

namespace heddle::servers {

/// Keeps the calling thread's processor busy for a time by the wall clock; 0 does not look at it.
inline void spin(std::uint64_t length_ns) noexcept {
  if (length_ns == 0) return;
  for (const std::uint64_t start_ns = now_ns(); now_ns() - start_ns < length_ns;) {
  }
}

}  // namespace heddle::servers
