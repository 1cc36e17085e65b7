#pragma once

#include <cstdint>

namespace peers {

/// Marsaglia's xorshift64 (2003); the same numbers for the same index.
class xorshift {
 public:
  /// Neighbouring indices start far apart: the odd constant spreads them over 64 bits.
  explicit xorshift(std::uint64_t index) : state_((index + 1) * 0x9e3779b97f4a7c15) {}

  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

  /// Of 0 to `bound` - 1.
  std::uint64_t below(std::uint64_t bound) { return (next() >> 11) % bound; }

 private:
  std::uint64_t state_;
};

}  // namespace peers
