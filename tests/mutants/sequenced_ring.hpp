#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>

#include "mutant.hpp"

namespace heddle::mutants {

enum class sequenced_ring_bug {
  none,
  claim_taken_for_empty,  ///< M15
  flag_for_sequence,      ///< M21
  capacity_of_one,        ///< M21, second form
  value_for_sequence,     ///< M21, third form
};

/// The ring of bounded_mpmc in short; for the synchronisation see there. A cell knows its turn by
/// a sequence number; the mutants of M21 by a flag, or by its item, where 0 means free.
template <class Platform, sequenced_ring_bug Bug>
class sequenced_ring_queue {
  using bug = sequenced_ring_bug;
  using position = std::uint64_t;

 public:
  using handle = stateless_handle;

  explicit sequenced_ring_queue(const queue_options& options)
      : capacity_(options.capacity_slots), cells_(new cell[options.capacity_slots]) {
    if (Bug != bug::capacity_of_one && capacity_ < 2) throw std::invalid_argument("capacity");
    for (position at = 0; at < capacity_; ++at) {
      cells_[at].turn.store(counts_turns ? at : 0, std::memory_order_relaxed);
    }
  }

  push_result try_push(int item, handle&) {
    position at = tail_.load(std::memory_order_relaxed);
    for (;;) {
      cell& cell = cells_[at % capacity_];
      const position turn = cell.turn.load(std::memory_order_acquire);  // [freed]
      const auto ahead = static_cast<std::int64_t>(turn - (counts_turns ? at : 0));
      const bool full = counts_turns ? ahead < 0 : ahead != 0;
      if (full) return push_result::full;
      if (ahead > 0) {
        at = tail_.load(std::memory_order_relaxed);
      } else if (tail_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
        cell.item.store(item);
        cell.turn.store(filled(at, item), std::memory_order_release);  // [filled]
        return push_result::ok;
      }
    }
  }

  pop_result<int> try_pop(handle&) {
    position at = head_.load(std::memory_order_acquire);  // [drained]
    for (;;) {
      cell& cell = cells_[at % capacity_];
      const position turn = cell.turn.load(std::memory_order_acquire);  // [filled]
      const auto ahead = static_cast<std::int64_t>(turn - (counts_turns ? at + 1 : 1));
      if (ahead < 0) {
        const bool empty = tail_.load(std::memory_order_relaxed) == at;
        if (empty || Bug == bug::claim_taken_for_empty) return {};
        return {pop_status::contended};
      }
      if (counts_turns && ahead > 0) {
        at = head_.load(std::memory_order_acquire);
      } else if (head_.compare_exchange_weak(at, at + 1, std::memory_order_release,
                                             std::memory_order_acquire)) {
        const int item = cell.item.load();
        cell.turn.store(counts_turns ? at + capacity_ : 0, std::memory_order_release);  // [freed]
        return {pop_status::item, item};
      }
    }
  }

 private:
  static constexpr bool counts_turns =
      Bug != bug::flag_for_sequence && Bug != bug::value_for_sequence;

  static constexpr position filled(position at, int item) {
    if (Bug == bug::value_for_sequence) return static_cast<position>(item);
    return Bug == bug::flag_for_sequence ? 1 : at + 1;
  }

  struct cell {
    typename Platform::template atomic<position> turn{0};
    typename Platform::template cell<int> item{0};
  };

  const std::size_t capacity_;
  const std::unique_ptr<cell[]> cells_;
  typename Platform::template atomic<position> tail_{0};
  typename Platform::template atomic<position> head_{0};
};

template <sequenced_ring_bug Bug>
struct sequenced_ring {
  template <class T, class Platform>
  using type = sequenced_ring_queue<Platform, Bug>;
};

}  // namespace heddle::mutants
