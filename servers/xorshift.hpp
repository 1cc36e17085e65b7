#pragma once

#include <cstdint>

namespace heddle::servers {

/// Small pseudo-random numbers, the same for the same seed. Source: Marsaglia, "Xorshift RNGs",
/// 2003, the 64-bit triple (13, 7, 17).
class xorshift {
 public:
  /// Neighbouring seeds give sequences that have nothing in common.
  explicit xorshift(std::uint64_t seed) noexcept : state_((seed + 1) * odd) {}

  /// From 0 to `below` - 1; `below` is small against 2^64.
  std::uint64_t next(std::uint64_t below) noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ % below;
  }

 private:
  // 2^64 over the golden ratio; as it is odd, only a factor of 0 gives the one forbidden state.
  static constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;

  std::uint64_t state_;
};

}  // namespace heddle::servers
