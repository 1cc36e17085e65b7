#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <heddle/base/cache_line.hpp>

namespace heddle {

/// Slot of a position in a ring: neighbouring positions, which different threads use at the same
/// time, stand on different cache lines, and no slot needs padding. The position modulo the number
/// of slots, with its bits rotated by as many as count the slots of one line.
class line_spread {
 public:
  /// `slots` must be a power of two; a ring of one line or less keeps its order.
  constexpr line_spread(std::size_t slots, std::size_t slot_bytes)
      : mask_(slots - 1), up_(bits_of(std::max(cache_line_bytes / slot_bytes, std::size_t{1}))) {
    if (bits_of(slots) <= up_) up_ = 0;
    down_ = bits_of(slots) - up_;
  }

  constexpr std::size_t operator()(std::uint64_t position) const {
    const std::size_t index = static_cast<std::size_t>(position) & mask_;
    return ((index << up_) & mask_) | (index >> down_);
  }

 private:
  /// Logarithm to base two, rounded down.
  static constexpr unsigned bits_of(std::size_t size) {
    return static_cast<unsigned>(std::bit_width(size) - 1);
  }

  std::size_t mask_;
  unsigned up_;
  unsigned down_ = 0;
};

}  // namespace heddle
