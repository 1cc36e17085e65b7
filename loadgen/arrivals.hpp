#pragma once

#include <cmath>
#include <cstdint>

#include "options.hpp"

namespace heddle::load {

/// xorshift64*; of one seed each stream is its own. Source: Vigna, "An experimental exploration of
/// Marsaglia's xorshift generators, scrambled", ACM TOMS 42(4), 2016; seeded by his splitmix64.
class random_bits {
 public:
  random_bits(std::uint64_t seed, std::uint64_t stream) {
    std::uint64_t mixed = seed + (stream + 1) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    state_ = (mixed ^ (mixed >> 31)) | 1;
  }

  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }

  /// Uniform in (0, 1].
  double unit() { return static_cast<double>((next() >> 11) + 1) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

/// When the requests of one of several threads are due, in ns of the clock, ascending. The threads
/// share the rate evenly: constant arrivals take turns and are evenly spaced together; Poisson
/// arrivals, thinned, are Poisson again.
class arrivals {
 public:
  /// `rate_rps` > 0: of all threads together.
  arrivals(arrival_pattern pattern, double rate_rps, unsigned thread, unsigned threads,
           std::uint64_t seed)
      : pattern_(pattern),
        gap_ns_(1e9 * threads / rate_rps),
        first_ns_(1e9 * thread / rate_rps),
        random_(seed, thread) {}

  /// Starts the schedule. Must be called once, before the others.
  void start(std::uint64_t start_ns) {
    start_ns_ = start_ns;
    offset_ns_ = pattern_ == arrival_pattern::constant ? first_ns_ : exponential();
  }

  std::uint64_t due_ns() const { return start_ns_ + static_cast<std::uint64_t>(offset_ns_); }

  void advance() {
    ++passed_;
    if (pattern_ == arrival_pattern::constant)
      offset_ns_ = first_ns_ + static_cast<double>(passed_) * gap_ns_;
    else
      offset_ns_ += exponential();
  }

 private:
  double exponential() { return -std::log(random_.unit()) * gap_ns_; }

  arrival_pattern pattern_;
  double gap_ns_;
  double first_ns_;
  random_bits random_;
  std::uint64_t start_ns_ = 0;
  double offset_ns_ = 0;
  std::uint64_t passed_ = 0;
};

}  // namespace heddle::load
