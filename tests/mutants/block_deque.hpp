#pragma once

#include <array>
#include <cstdint>

#include "mutant.hpp"

namespace heddle::mutants {

enum class block_deque_bug {
  none,
  reclaimed_when_claimed,  ///< M18
};

/// BWoS in short: two blocks of two slots, used in turn under growing numbers. The owner works in
/// the newest block and grants it to the thieves when it goes on to the next; when its block is
/// empty it takes back what the thieves have left in the one before.
///
/// `claim` of a block is its number and the next slot for a thief: `held` while the block is the
/// owner's, block_slots when nothing is left. [granted] carries the items; [copied] tells the owner
/// that a thief no longer reads the slot it claimed, so that the block can be used again.
template <class Platform, block_deque_bug Bug>
class block_deque_queue {
  using bug = block_deque_bug;

 public:
  using handle = stateless_handle;

  explicit block_deque_queue(const queue_options&) {
    block_of(first_number).claim.store(word(first_number, held), std::memory_order_relaxed);
    block_of(first_number).copied.store(0, std::memory_order_relaxed);
  }

  /// Owner only.
  push_result try_push(int item, handle&) {
    if (end_ == block_slots && !go_on()) return push_result::full;
    block_of(owned_).slots[end_++].store(item);
    return push_result::ok;
  }

  /// Owner only: the last item of its block.
  pop_result<int> try_pop(handle&) {
    if (begin_ == end_ && !take_back()) return {};
    return {pop_status::item, block_of(owned_).slots[--end_].load()};
  }

  /// Any thread: the first item of the oldest granted block.
  pop_result<int> try_steal(handle&) {
    // acquire ← release in the loop: who sees a number sees that the block before was used up.
    std::uint32_t number = oldest_.load(std::memory_order_acquire);
    for (;;) {
      block& block = block_of(number);
      std::uint32_t seen = block.claim.load(std::memory_order_acquire);  // [granted]
      if (number_of(seen) == number && slot_of(seen) < block_slots) {
        if (!block.claim.compare_exchange_strong(seen, seen + 1, std::memory_order_acq_rel,
                                                 std::memory_order_relaxed)) {
          return {pop_status::contended};
        }
        const int item = block.slots[slot_of(seen)].load();
        block.copied.fetch_add(1, std::memory_order_release);  // [copied]
        return {pop_status::item, item};
      }
      const bool used_up =
          number_of(seen) > number || (number_of(seen) == number && slot_of(seen) == block_slots);
      if (!used_up) return {};  // the owner's, or not begun
      if (oldest_.compare_exchange_strong(number, number + 1, std::memory_order_acq_rel,
                                          std::memory_order_acquire)) {
        ++number;
      }
    }
  }

 private:
  template <class Value>
  using atomic = typename Platform::template atomic<Value>;

  static constexpr std::uint32_t block_slots = 2;
  static constexpr std::uint32_t held = 15;
  static constexpr std::uint32_t first_number = 2;

  static constexpr std::uint32_t word(std::uint32_t number, std::uint32_t slot) {
    return number << 4 | slot;
  }
  static constexpr std::uint32_t number_of(std::uint32_t word) { return word >> 4; }
  static constexpr std::uint32_t slot_of(std::uint32_t word) { return word & 15; }

  struct block {
    atomic<std::uint32_t> claim{word(0, block_slots)};
    atomic<std::uint32_t> copied{block_slots};
    std::array<typename Platform::template cell<int>, block_slots> slots;
  };

  block& block_of(std::uint32_t number) { return blocks_[number % 2]; }

  /// Nobody has business in the block any more, so the owner may write to it.
  bool reclaimable(block& block) const {
    if (Bug == bug::reclaimed_when_claimed) {
      return slot_of(block.claim.load(std::memory_order_acquire)) == block_slots;
    }
    return block.copied.load(std::memory_order_acquire) == block_slots;  // [copied]
  }

  bool go_on() {
    block& next = block_of(owned_ + 1);
    if (!reclaimable(next)) return false;
    block_of(owned_).claim.store(word(owned_, begin_), std::memory_order_release);  // [granted]
    ++owned_;
    begin_ = end_ = 0;
    next.copied.store(0, std::memory_order_relaxed);  // [granted] tells the thieves.
    next.claim.store(word(owned_, held), std::memory_order_release);
    return true;
  }

  bool take_back() {
    const std::uint32_t number = owned_ - 1;
    block& before = block_of(number);
    std::uint32_t seen = before.claim.load(std::memory_order_acquire);
    do {
      if (number_of(seen) != number || slot_of(seen) >= block_slots) return false;
    } while (!before.claim.compare_exchange_strong(
        seen, word(number, held), std::memory_order_acq_rel, std::memory_order_acquire));
    // The block left behind is empty, and no thief has ever been in it.
    block_of(owned_).copied.store(block_slots, std::memory_order_relaxed);
    owned_ = number;
    begin_ = slot_of(seen);
    end_ = block_slots;
    return true;
  }

  std::array<block, 2> blocks_;
  // The owner's.
  std::uint32_t owned_ = first_number;
  std::uint32_t begin_ = 0;
  std::uint32_t end_ = 0;
  // The thieves'.
  atomic<std::uint32_t> oldest_{first_number};
};

template <block_deque_bug Bug>
struct block_deque {
  template <class T, class Platform>
  using type = block_deque_queue<Platform, Bug>;
};

}  // namespace heddle::mutants
