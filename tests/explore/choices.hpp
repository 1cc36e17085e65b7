#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle::explore {

/// The decisions of one execution, in order. Running the client again with the same decisions gives
/// the same execution; the depth-first search changes the last one that has an alternative left.
class choices {
 public:
  /// Starts the next execution from its first decision.
  void rewind() noexcept { next_ = 0; }

  /// Forgets all decisions.
  void clear() noexcept {
    path_.clear();
    next_ = 0;
  }

  /// Decides between `count` alternatives, at least 2. A decision that was made before is repeated;
  /// a new one is `wanted`.
  std::uint32_t choose(std::uint32_t count, std::uint32_t wanted = 0) {
    if (next_ == path_.size()) path_.push_back({wanted, count});
    decision& made = path_[next_++];
    if (made.count == 0) made.count = count;  // from a seed, which does not say it
    if (made.count != count || made.chosen >= count) same_ = false;
    return made.chosen < count ? made.chosen : 0;
  }

  /// False when a repeated decision was met with other alternatives than the first time, or not at
  /// all: the client does not depend on the decisions alone. After an execution.
  bool deterministic() const noexcept { return same_ && next_ == path_.size(); }

  /// Moves to the next path of the depth-first search; false when there is none.
  bool advance() {
    path_.resize(next_);
    while (!path_.empty() && path_.back().chosen + 1 == path_.back().count) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().chosen;
    return true;
  }

  /// The decisions as text: for each that is not 0, how many zeros come before it, and its value.
  std::string seed(const char* model) const {
    std::ostringstream text;
    text << model;
    std::size_t zeros = 0;
    for (std::size_t index = 0; index < next_; ++index) {
      if (path_[index].chosen == 0) {
        ++zeros;
        continue;
      }
      text << '-' << zeros << '.' << path_[index].chosen;
      zeros = 0;
    }
    return text.str();
  }

  /// Takes the decisions from a seed. Errors: std::invalid_argument.
  void read_seed(const std::string& seed, const std::string& model) {
    clear();
    const std::size_t end = seed.find('-');
    if (seed.substr(0, end) != model) {
      throw std::invalid_argument("the seed is not one of the model " + model + ": " + seed);
    }
    if (end == std::string::npos) return;
    std::istringstream text(seed.substr(end));
    char dash;
    char dot;
    std::size_t zeros;
    std::uint32_t chosen;
    while (text >> dash) {
      if (!(text >> zeros >> dot >> chosen) || dash != '-' || dot != '.' || zeros > 1'000'000) {
        throw std::invalid_argument("not a seed: " + seed);
      }
      path_.resize(path_.size() + zeros, decision{0, 0});
      path_.push_back({chosen, 0});
    }
  }

 private:
  struct decision {
    std::uint32_t chosen;
    std::uint32_t count;
  };

  std::vector<decision> path_;
  std::size_t next_ = 0;
  bool same_ = true;
};

/// Random numbers of one exploration.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint64_t count) { return static_cast<std::uint32_t>(engine_() % count); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace heddle::explore
