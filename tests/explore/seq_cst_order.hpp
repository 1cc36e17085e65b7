#pragma once

#include <array>
#include <bitset>
#include <cstdint>

#include <explore/vector_clock.hpp>

namespace heddle::explore {

/// The single total order of seq_cst operations and fences of C++20 ([atomics.order]/4), kept as
/// what is known of it: which must come before which, transitively closed. An execution is
/// consistent as long as this has no cycle. The order in which the explorer executes operations
/// means nothing here.
class seq_cst_order {
 public:
  static constexpr unsigned most = 128;
  static constexpr int none = -1;
  using set = std::bitset<most>;

  void clear() noexcept {
    size_ = 0;
    fences_ = 0;
  }
  bool empty() const noexcept { return size_ == 0; }
  bool full() const noexcept { return size_ + 1 >= most; }
  bool has_fences() const noexcept { return fences_ != 0; }

  /// Adds an operation, behind all that strongly happen before it: `before` is the clock of its
  /// thread's previous event. That is everything that precedes a previous event's happening before
  /// in its thread; what synchronises with the operation directly is coherence-ordered before it.
  int add(unsigned thread, std::uint32_t time, const vector_clock& before, const vector_clock& at,
          bool fence) noexcept {
    const unsigned added = size_++;
    members_[added] = {thread, time, at, fence};
    if (fence) ++fences_;
    earlier_[added].reset();
    for (unsigned index = 0; index < added; ++index) {
      const member& other = members_[index];
      if (other.thread == thread || before.at[other.thread] > other.time) {
        earlier_[added] |= earlier_[index];
        earlier_[added].set(index);
      }
    }
    return static_cast<int>(added);
  }

  /// Fences that happen before an event with this clock, and `self` if it is an operation here.
  set upto(int self, const vector_clock& at) const noexcept {
    set found;
    if (self != none) found.set(static_cast<unsigned>(self));
    for (unsigned index = 0; index < size_; ++index) {
      const member& one = members_[index];
      if (one.fence && at.knows(one.thread, one.time)) found.set(index);
    }
    return found;
  }

  /// Fences that an event happens before, and `self` if it is an operation here.
  set from(int self, unsigned thread, std::uint32_t time) const noexcept {
    set found;
    if (self != none) found.set(static_cast<unsigned>(self));
    for (unsigned index = 0; index < size_; ++index) {
      if (members_[index].fence && members_[index].at.knows(thread, time)) found.set(index);
    }
    return found;
  }

  /// Orders all of `first` before all of `second`; false when that closes a cycle.
  bool order(const set& first, const set& second) noexcept {
    if (second.none()) return true;
    for (unsigned one = 0; one < size_; ++one) {
      if (!first[one]) continue;
      for (unsigned other = 0; other < size_; ++other) {
        if (second[other] && !order(one, other)) return false;
      }
    }
    return true;
  }

  /// Keeps the present state for restore().
  void save() noexcept {
    saved_size_ = size_;
    saved_fences_ = fences_;
    for (unsigned index = 0; index < size_; ++index) saved_[index] = earlier_[index];
  }
  void restore() noexcept {
    size_ = saved_size_;
    fences_ = saved_fences_;
    for (unsigned index = 0; index < size_; ++index) earlier_[index] = saved_[index];
  }

 private:
  struct member {
    unsigned thread;
    std::uint32_t time;
    vector_clock at;
    bool fence;
  };

  bool order(unsigned first, unsigned second) noexcept {
    if (first == second || earlier_[first][second]) return false;
    if (earlier_[second][first]) return true;
    set moved = earlier_[first];
    moved.set(first);
    for (unsigned index = 0; index < size_; ++index) {
      if (index == second || earlier_[index][second]) earlier_[index] |= moved;
    }
    return true;
  }

  std::array<member, most> members_;
  std::array<set, most> earlier_;
  std::array<set, most> saved_;
  unsigned size_ = 0;
  unsigned fences_ = 0;
  unsigned saved_size_ = 0;
  unsigned saved_fences_ = 0;
};

}  // namespace heddle::explore
