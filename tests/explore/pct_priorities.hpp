#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <explore/choices.hpp>
#include <explore/vector_clock.hpp>

namespace heddle::explore {

/// The order in which PCT prefers threads: drawn at random for each execution, and changed at a few
/// decisions, drawn too, at which the running thread falls behind all others.
/// Source: S. Burckhardt et al., "A randomized scheduler with probabilistic guarantees of finding
///         bugs", ASPLOS 2010.
class pct_priorities {
 public:
  explicit pct_priorities(unsigned depth) : depth_(depth) {}

  /// For an execution of about `decisions`.
  void draw(random_source& random, std::uint64_t decisions) {
    for (std::uint32_t& priority : of_thread_) priority = depth_ + random.below(1'000'000);
    changes_.clear();
    for (unsigned index = 1; index < depth_; ++index) {
      changes_.push_back(1 + random.below(decisions));
    }
  }

  /// Index of the one to run at a decision, of the threads found.
  std::uint32_t highest(const unsigned* found, std::uint32_t size, unsigned running,
                        std::uint64_t decision) {
    for (std::size_t index = 0; index < changes_.size(); ++index) {
      if (changes_[index] == decision) of_thread_[running] = static_cast<std::uint32_t>(index);
    }
    std::uint32_t best = 0;
    for (std::uint32_t index = 1; index < size; ++index) {
      if (of_thread_[found[index]] > of_thread_[found[best]]) best = index;
    }
    return best;
  }

 private:
  const unsigned depth_;
  std::array<std::uint32_t, most_threads> of_thread_{};
  std::vector<std::uint64_t> changes_;
};

}  // namespace heddle::explore
