#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "mutant.hpp"

namespace heddle::mutants {

enum class local_ring_bug {
  none,
  tail_not_acquired,  ///< M3
  room_modulo_ring,   ///< M9
  index_of_3_bits,    ///< M10
  plain_addition,     ///< M11
};

/// Ring of a worker whose thieves claim items, copy them, and then give the slots back (Tokio's
/// queue). `real` is where the next item is taken, `steal` stays behind while a thief copies.
///
/// [pushed] carries the items; [claimed] lets whoever sees a head see the tail that allowed it;
/// [returned] tells the owner that a thief has copied what it had claimed.
template <class Platform, local_ring_bug Bug>
class local_ring_queue {
  using bug = local_ring_bug;
  using index = std::uint16_t;

 public:
  using handle = stateless_handle;

  explicit local_ring_queue(const queue_options& options)
      : tail_(wrap(options.first_index)),
        head_(pack(wrap(options.first_index), wrap(options.first_index))) {}

  /// Owner only.
  push_result try_push(int item, handle&) {
    const index tail = tail_.load(std::memory_order_relaxed);
    // [returned] and [claimed] acquire: the slot was read before it is overwritten.
    const index steal = unpack(head_.load(std::memory_order_acquire)).steal;
    if (wrap(tail - steal) >= capacity) return push_result::full;
    slots_[tail % capacity].store(item, std::memory_order_relaxed);  // [pushed] publishes it.
    tail_.store(wrap(tail + 1), std::memory_order_release);          // [pushed]
    return push_result::ok;
  }

  /// Owner only.
  pop_result<int> try_pop(handle&) {
    std::uint32_t seen = head_.load(std::memory_order_acquire);
    const index tail = tail_.load(std::memory_order_relaxed);  // only this thread writes it
    for (;;) {
      const auto [steal, real] = unpack(seen);
      const bool empty = Bug == bug::plain_addition ? int{real} + 1 > int{tail} : real == tail;
      if (empty) return {};
      const index next = wrap(real + 1);
      // [claimed] release → acquire in steal_half_into.
      if (head_.compare_exchange_strong(seen, pack(steal == real ? next : steal, next),
                                        std::memory_order_acq_rel, std::memory_order_acquire)) {
        return {pop_status::item, item_at(real)};
      }
    }
  }

  /// Half of the items, rounded up, as far as the thief has room: as bounded_spmc has it.
  pop_result<int> steal_half_into(local_ring_queue& thief, std::size_t most, handle&) {
    const index thief_tail = thief.tail_.load(std::memory_order_relaxed);  // the caller's own
    const index fill =
        wrap(thief_tail - unpack(thief.head_.load(std::memory_order_acquire)).steal);  // [returned]
    const std::size_t room = capacity - (Bug == bug::room_modulo_ring ? fill % capacity : fill);
    std::uint32_t seen = head_.load(std::memory_order_acquire);  // [claimed]
    const auto [steal, real] = unpack(seen);
    if (steal != real) return {pop_status::contended};  // another thief is copying
    const index tail = tail_.load(Bug == bug::tail_not_acquired ? std::memory_order_relaxed
                                                                : std::memory_order_acquire);
    const index size = wrap(tail - real);
    if (size == 0) return {};
    if (size > capacity) return {pop_status::contended};  // items came and went meanwhile
    const auto count = static_cast<index>(std::min({std::size_t(size - size / 2), most, room + 1}));
    if (!head_.compare_exchange_strong(seen, pack(steal, wrap(real + count)),
                                       std::memory_order_acq_rel, std::memory_order_relaxed)) {
      return {pop_status::contended};
    }
    const int first = item_at(real);
    for (index offset = 1; offset < count; ++offset) {
      thief.slots_[(thief_tail + offset - 1u) % capacity].store(item_at(real + offset),
                                                                std::memory_order_relaxed);
    }
    give_back();
    if (count > 1) {
      thief.tail_.store(wrap(thief_tail + count - 1u), std::memory_order_release);  // [pushed]
    }
    return {pop_status::item, first};
  }

 private:
  static constexpr index capacity = 4;

  struct heads {
    index steal;
    index real;
  };

  static constexpr index wrap(std::uint64_t index) {
    return static_cast<local_ring_queue::index>(Bug == bug::index_of_3_bits ? index % 8 : index);
  }
  static constexpr std::uint32_t pack(index steal, index real) {
    return std::uint32_t{steal} << 16 | real;
  }
  static constexpr heads unpack(std::uint32_t both) {
    return {static_cast<index>(both >> 16), static_cast<index>(both)};
  }

  /// relaxed: [pushed] made it visible. Atomic, so that what a mutant reads is a wrong item, and
  /// not a data race by itself.
  int item_at(unsigned position) const {
    return slots_[position % capacity].load(std::memory_order_relaxed);
  }

  /// The claimed items are copied: `steal` catches up with `real`.
  void give_back() {
    std::uint32_t seen = head_.load(std::memory_order_relaxed);
    index real = 0;
    do {
      real = unpack(seen).real;
      // [returned] release → acquire in try_push; acquire: see [claimed].
    } while (!head_.compare_exchange_strong(seen, pack(real, real), std::memory_order_acq_rel,
                                            std::memory_order_relaxed));
  }

  std::array<typename Platform::template atomic<int>, capacity> slots_{};
  typename Platform::template atomic<index> tail_;
  typename Platform::template atomic<std::uint32_t> head_;
};

template <local_ring_bug Bug>
struct local_ring {
  template <class T, class Platform>
  using type = local_ring_queue<Platform, Bug>;
};

struct theft_from_a_thief {
  static constexpr char text[] =
      "2 rings of 4; steal from A into B ∥ the owner of A drains A, steals from B";

  template <class Where, class Queue>
  static void run() {
    const queue_options options{.capacity_slots = 4};
    Queue queue(options), other(options);
    call_log<Where> log;
    caller main(queue, log, lane::before), others(other, log, lane::before);
    for (int item = 1; item <= 4; ++item) main.push(item);
    for (int item = 5; item <= 7; ++item) others.push(item);
    Where::together(
        [&] {
          half_thief<Queue> half{queue, other};
          caller(queue, log, lane::first).steal_by(half);
        },
        [&] {
          caller self(queue, log, lane::second);
          while (self.pop() == pop_status::item) {
          }
          half_thief<Queue> half{other, queue};
          self.steal_by(half);
        });
    main.drain();
    others.drain();
    log.require_nothing_lost();
  }
};

}  // namespace heddle::mutants
