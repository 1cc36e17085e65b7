#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace heddle::load {

/// Log-linear histogram of durations in ns, as HdrHistogram's: exact below 2048 ns, above that 1024
/// buckets for each power of two, so that a bucket is less than 0.1 % of its values wide. Durations
/// of 2^40 ns (18 minutes) and more count into the last bucket. The bounds are the same in every
/// run, so histograms of several threads or runs are added, never averaged.
class histogram {
 public:
  static constexpr double relative_error = 0.001;

  /// Values from `low_ns` up to, and without, `high_ns`.
  struct bucket {
    std::uint64_t low_ns;
    std::uint64_t high_ns;
    std::uint64_t count;
  };

  void add(std::uint64_t ns) {
    ++counts_[bucket_of(ns)];
    ++samples_;
    sum_ns_ += ns;
    min_ns_ = std::min(min_ns_, ns);
    max_ns_ = std::max(max_ns_, ns);
  }

  void add(const histogram& other) {
    for (std::size_t at = 0; at < counts_.size(); ++at) counts_[at] += other.counts_[at];
    samples_ += other.samples_;
    sum_ns_ += other.sum_ns_;
    min_ns_ = std::min(min_ns_, other.min_ns_);
    max_ns_ = std::max(max_ns_, other.max_ns_);
  }

  std::uint64_t samples() const { return samples_; }
  std::uint64_t min_ns() const { return samples_ == 0 ? 0 : min_ns_; }
  std::uint64_t max_ns() const { return max_ns_; }
  double mean_ns() const {
    return samples_ == 0 ? 0 : static_cast<double>(sum_ns_) / static_cast<double>(samples_);
  }

  /// The least duration that a share of `quantile` in (0, 1] of the samples does not exceed, within
  /// half a bucket; 0 without samples.
  std::uint64_t quantile_ns(double quantile) const {
    const auto rank =
        static_cast<std::uint64_t>(std::ceil(static_cast<double>(samples_) * quantile));
    std::uint64_t passed = 0;
    for (std::size_t at = 0; at < counts_.size(); ++at) {
      passed += counts_[at];
      if (passed != 0 && passed >= rank) {
        const std::uint64_t middle_ns = low_ns(at) + (low_ns(at + 1) - low_ns(at)) / 2;
        return std::clamp(middle_ns, min_ns_, max_ns_);
      }
    }
    return max_ns_;
  }

  /// Those that hold something, in ascending order.
  std::vector<bucket> buckets() const {
    std::vector<bucket> filled;
    for (std::size_t at = 0; at < counts_.size(); ++at)
      if (counts_[at] != 0) filled.push_back({low_ns(at), low_ns(at + 1), counts_[at]});
    return filled;
  }

 private:
  static constexpr unsigned linear_bits = 10;
  static constexpr std::size_t linear = std::size_t{1} << linear_bits;
  static constexpr unsigned widest = 40;  // bits

  /// The leading 11 bits choose the bucket; the first of them is always one, but for small values.
  static constexpr std::size_t bucket_of(std::uint64_t ns) {
    ns = std::min(ns, (std::uint64_t{1} << widest) - 1);
    const unsigned width = static_cast<unsigned>(std::bit_width(ns | linear));
    const unsigned shift = width - (linear_bits + 1);
    return (std::size_t{shift} << linear_bits) + (ns >> shift);
  }

  static constexpr std::uint64_t low_ns(std::size_t bucket) {
    if (bucket < 2 * linear) return bucket;
    const std::size_t shift = (bucket >> linear_bits) - 1;
    return (linear + bucket % linear) << shift;
  }

  std::vector<std::uint64_t> counts_ =
      std::vector<std::uint64_t>((widest - linear_bits + 1) << linear_bits);
  std::uint64_t samples_ = 0;
  std::uint64_t sum_ns_ = 0;
  std::uint64_t min_ns_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max_ns_ = 0;
};

}  // namespace heddle::load
