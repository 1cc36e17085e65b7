#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace heddle::bench {

/// Log-linear histogram of durations: exact below 6.4 ns in steps of 0.1 ns, above that 64 buckets
/// for each power of two, so at most 1.6 % wide, up to 100 s. The bounds are the same in every run,
/// so that histograms of several runs can be added.
class histogram {
 public:
  void add(double ns) {
    ++counts_[bucket_of(static_cast<std::uint64_t>(ns * steps_per_ns + 0.5))];
    ++samples_;
    max_ns_ = std::max(max_ns_, ns);
  }

  void add(const histogram& other) {
    for (std::size_t at = 0; at < counts_.size(); ++at) counts_[at] += other.counts_[at];
    samples_ += other.samples_;
    max_ns_ = std::max(max_ns_, other.max_ns_);
  }

  std::uint64_t samples() const { return samples_; }
  double max_ns() const { return max_ns_; }

  /// The duration that a share of `quantile` in (0, 1) of the samples does not exceed, give or take
  /// half a bucket; nothing when fewer than ten samples lie beyond it, since it is chance then.
  std::optional<double> quantile_ns(double quantile) const {
    const auto total = static_cast<double>(samples_);
    if (total * (1 - quantile) < 10) return std::nullopt;
    double passed = 0;
    for (std::size_t at = 0; at < counts_.size(); ++at) {
      passed += counts_[at];
      if (passed >= total * quantile) return std::min(middle_ns(at), max_ns_);
    }
    return max_ns_;
  }

  /// The buckets that hold something: the middle of each in ns, and its count.
  std::vector<std::pair<double, std::uint64_t>> buckets() const {
    std::vector<std::pair<double, std::uint64_t>> filled;
    for (std::size_t at = 0; at < counts_.size(); ++at)
      if (counts_[at] != 0) filled.emplace_back(middle_ns(at), counts_[at]);
    return filled;
  }

 private:
  static constexpr double steps_per_ns = 10;
  static constexpr unsigned linear_bits = 6;
  static constexpr std::uint64_t linear = std::uint64_t{1} << linear_bits;
  static constexpr unsigned largest_width = 40;  // bits of a number of steps; 2^40 are 110 s

  /// Of the leading bits of `steps` seven choose the bucket; the first of them is always one.
  static constexpr std::size_t bucket_of(std::uint64_t steps) {
    steps = std::min(steps, (std::uint64_t{1} << largest_width) - 1);
    if (steps < linear) return steps;
    const auto shift = static_cast<unsigned>(std::bit_width(steps)) - (linear_bits + 1);
    return static_cast<std::size_t>((shift << linear_bits) + (steps >> shift));
  }

  static constexpr double middle_ns(std::size_t bucket) {
    if (bucket < linear) return static_cast<double>(bucket) / steps_per_ns;
    const std::size_t shift = (bucket >> linear_bits) - 1;
    const std::uint64_t low = (linear + bucket % linear) << shift;
    const auto width = static_cast<double>(std::uint64_t{1} << shift);
    return (static_cast<double>(low) + (width - 1) / 2) / steps_per_ns;
  }

  std::array<std::uint32_t, (largest_width - linear_bits + 1) << linear_bits> counts_{};
  std::uint64_t samples_ = 0;
  double max_ns_ = 0;
};

}  // namespace heddle::bench
