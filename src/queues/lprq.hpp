#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

#include <heddle/base/assert.hpp>
#include <heddle/base/cache_line.hpp>
#include <heddle/queues/hazard_pointers.hpp>
#include <heddle/queues/line_spread.hpp>
#include <heddle/queues/queue_traits.hpp>
#include <heddle/queues/segment_list.hpp>

namespace heddle {

/// List of rings in which a fetch-and-add gives each push and each pop a position. A slot has two
/// words, the position that used it last and its value, and no double-width compare-and-swap: a
/// push first puts a token of its own into the value, then its position beside it, and then
/// exchanges the token for the item, unless a pop or a later push has taken the token away.
///
/// Source:   R. Romanov, N. Koval, "The state-of-the-art LCRQ concurrent queue algorithm does NOT
///           require CAS2", PPoPP 2023.
/// Threads:  every operation any.
/// Progress: lock-free, but for the allocator: a push that fails often closes the ring, and the
///           first in a new one succeeds.
/// Capacity: none; try_push never answers full, may allocate, and throws std::bad_alloc. 1024 slots
///           of 16 bytes a ring, which is used lap after lap until it is full.
/// Element:  a pointer whose lowest bit is clear, null too, or a value of at most 4 bytes: the
///           value word holds items, tokens, which are odd, and zero.
/// Empty:    strict.
/// Errata:   of segment_list. Pops acquire the positions of others (oneTBB#782). The flag that
///           closes a ring is a bit of the tail, so no push can slip in between (the segments of
///           .NET's queue were frozen by a flag of their own).
///
/// Decided here: positions are doubled, so that the flags of tail and slot are their lowest bit and
/// wrapping around needs no care; they have 63 bits. The slot keeps a position where the paper
/// keeps a lap; equal positions are equal laps of one slot. A push that finds its slot unsafe reads
/// the head by a read-modify-write: see [unsafe].
///
/// Synchronisation: [value] carries an item from its push to its pop; [position] publishes the
/// token, so that who sees a position sees no older value; [unsafe] tells the pushes of a slot that
/// its pop has gone; [popped] lets whoever sees a pop see what its thread had seen; [linked] is
/// segment_list's.
struct lprq {
  static constexpr queue_traits traits{.allocates = true};

  template <class T, class Platform>
  struct ring;

  template <class T, class Platform>
  using type = segment_list<T, ring<T, Platform>, hazard_pointers, Platform>;
};

template <class T, class Platform>
struct lprq::ring : linked_segment<ring<T, Platform>, Platform> {
  static_assert(std::is_trivially_copyable_v<T> && (std::is_pointer_v<T> || sizeof(T) <= 4),
                "lprq needs pointers or small values: some words are reserved");

  static constexpr std::size_t segment_slots = explored<Platform> ? 2 : 1024;

  ring(std::uint64_t number, const queue_options& options)
      : linked_segment<ring, Platform>(number),
        tail_(options.first_index * step),
        head_(options.first_index * step) {
    // relaxed: [linked] publishes the ring.
    for (position offset = 0; offset < segment_slots; ++offset) {
      const position at = (options.first_index + offset) * step;
      slot_at(at).position.store(at - lap, std::memory_order_relaxed);
    }
  }

  push_result try_push(T item, const void* identity) {
    const word token = std::bit_cast<word>(identity) | 1;
    for (int tries = most_tries;; --tries) {
      // relaxed: it only hands out positions, and the flag is in the same word.
      const position at = tail_.fetch_add(step, std::memory_order_relaxed);
      if (at & flag) return push_result::full;
      if (put(slot_at(at), at, item, token)) return push_result::ok;
      // relaxed: an old head only closes the ring early.
      const distance ahead = at - head_.load(std::memory_order_relaxed);
      if (ahead >= static_cast<distance>(lap) || tries == 0) {
        close();
        return push_result::full;
      }
    }
  }

  pop_result<T> try_pop() {
    for (;;) {
      // [popped] release → acquire here and in size(); [unsafe] release → acquire in may_use.
      const position at = head_.fetch_add(step, std::memory_order_acq_rel);
      if (const auto popped = take(slot_at(at), at)) return popped;
      // relaxed: [popped], and whatever told this thread of a push.
      const position tail = tail_.load(std::memory_order_relaxed) & ~flag;
      if (static_cast<distance>(tail - (at + step)) <= 0) {
        catch_up();
        return {};
      }
    }
  }

  /// Positions that a push has and no pop. A push that has completed is seen by who must see it, so
  /// 0 proves that the ring was empty.
  std::size_t size() const {
    // [popped] acquire ← release in try_pop, and this one first: the difference is then negative
    // only when pops have run ahead of the pushes.
    const position head = head_.load(std::memory_order_acquire);
    // relaxed: [popped], and whatever told the caller of a push.
    const position tail = tail_.load(std::memory_order_relaxed) & ~flag;
    const distance doubled = tail - head;
    return doubled <= 0 ? 0 : std::min<std::size_t>(doubled / step, segment_slots);
  }

 private:
  using position = std::uint64_t;  ///< doubled; the lowest bit is a flag, or clear
  using distance = std::int64_t;   ///< a difference of positions that may have wrapped around
  using word = std::uintptr_t;     ///< nothing, a token, which is odd, or an item

  static constexpr position flag = 1;  ///< of the tail: closed; of a slot: unsafe
  static constexpr position step = 2;
  static constexpr position lap = segment_slots * step;
  static constexpr word nothing = 0;
  /// Enough that pops which overtake a push a few times do not end a ring that has room.
  static constexpr int most_tries = explored<Platform> ? 1 : 16;

  struct slot {
    typename Platform::template atomic<std::uint64_t> position{0};
    typename Platform::template atomic<word> value{nothing};
  };

  static constexpr line_spread slot_of{segment_slots, sizeof(slot)};

  slot& slot_at(position at) { return slots_[slot_of(at / step)]; }

  static bool is_item(word value) { return value != nothing && (value & 1) == 0; }

  static word encode(T item) {
    if constexpr (std::is_pointer_v<T>) {
      const word bits = std::bit_cast<word>(item);
      HEDDLE_ASSERT((bits & 1) == 0);
      return bits + 2;
    } else {
      std::array<std::byte, sizeof(T)> bytes = std::bit_cast<decltype(bytes)>(item);
      word bits = 0;
      for (const std::byte byte : bytes) bits = bits << 8 | std::to_integer<word>(byte);
      return (bits << 1) + 2;
    }
  }

  static T decode(word value) {
    if constexpr (std::is_pointer_v<T>) {
      return std::bit_cast<T>(value - 2);
    } else {
      std::array<std::byte, sizeof(T)> bytes;
      word bits = (value - 2) >> 1;
      for (std::size_t at = sizeof(T); at-- != 0; bits >>= 8) bytes[at] = std::byte(bits & 0xff);
      return std::bit_cast<T>(bytes);
    }
  }

  /// A push at `at`, in its own slot. False: the slot is in use, or its pop has gone, or somebody
  /// took the token.
  bool put(slot& slot, position at, T item, word token) {
    // [position] acquire ← release below; [unsafe] acquire ← release in take.
    position used = slot.position.load(std::memory_order_acquire);
    // relaxed: the exchange looks again.
    word value = slot.value.load(std::memory_order_relaxed);
    if (is_item(value) || static_cast<distance>(used - at) >= 0 || !may_use(used, at)) return false;
    // relaxed: [position] publishes the token. From here to the end of the push, who removes it
    // stops the push.
    if (!slot.value.compare_exchange_strong(value, token, std::memory_order_relaxed,
                                            std::memory_order_relaxed)) {
      return false;
    }
    word expected = token;
    // [position] release → acquire of a slot's position. relaxed on failure: as below.
    if (!slot.position.compare_exchange_strong(used, at, std::memory_order_release,
                                               std::memory_order_relaxed)) {
      // relaxed: nothing is read through `nothing`.
      slot.value.compare_exchange_strong(expected, nothing, std::memory_order_relaxed,
                                         std::memory_order_relaxed);
      return false;
    }
    // [value] release → acquire in take.
    return slot.value.compare_exchange_strong(expected, encode(item), std::memory_order_release,
                                              std::memory_order_relaxed);
  }

  /// Whether the pop at `at` may still come. A slot becomes unsafe when the pop of some position
  /// found an older item there and went away.
  bool may_use(position used, position at) {
    if ((used & flag) == 0) return true;
    // [unsafe] A pop that found the slot unsafe already leaves no trace there. So this is no load:
    // either the pop's fetch-and-add comes first in head_ and is seen here, or it acquires this
    // one, and then sees the slot without its item, as this push has.
    const position head = head_.fetch_add(0, std::memory_order_acq_rel);
    return static_cast<distance>(head - at) <= 0;
  }

  /// The pop at `at`, in its own slot.
  pop_result<T> take(slot& slot, position at) {
    for (;;) {
      // [position] acquire ← release in put: the value is then not older than that push's token.
      position used = slot.position.load(std::memory_order_acquire);
      word value = slot.value.load(std::memory_order_acquire);  // [value] acquire ← release in put.
      // relaxed: the value's push wrote its position before, so a later one shows here.
      if (used != slot.position.load(std::memory_order_relaxed)) continue;
      const distance ahead = (used & ~flag) - at;
      if (ahead > 0) return {};
      position mark = at | (used & flag);  // Empty: pushes of this lap and before come too late.
      if (is_item(value)) {
        if (ahead == 0) {
          // relaxed: the item is read. Nobody else writes while an item of this lap is here.
          slot.value.store(nothing, std::memory_order_relaxed);
          return {pop_status::item, decode(value)};
        }
        mark = used | flag;  // An item whose pop is late: unsafe for this lap.
      } else if (value != nothing &&
                 // relaxed: stops the push whose token it is, which finds it gone.
                 !slot.value.compare_exchange_strong(value, nothing, std::memory_order_relaxed,
                                                     std::memory_order_relaxed)) {
        continue;
      }
      // [unsafe] release → acquire in put: this pop's position has been taken from the head.
      if (slot.position.compare_exchange_strong(used, mark, std::memory_order_release,
                                                std::memory_order_relaxed)) {
        return {};
      }
    }
  }

  /// No push whose fetch-and-add comes later succeeds. relaxed: whoever links the next ring has
  /// read the flag before, so by [linked] who follows the link sees every position given out.
  void close() {
    position tail = tail_.load(std::memory_order_relaxed);
    while ((tail & flag) == 0 &&
           !tail_.compare_exchange_weak(tail, tail | flag, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
    }
  }

  /// Pops have overtaken the pushes: lets the next push begin where a pop can still come.
  void catch_up() {
    position tail = tail_.load(std::memory_order_relaxed);  // relaxed: the exchange looks again.
    for (;;) {
      const position head = head_.load(std::memory_order_relaxed);  // relaxed: an old one is low.
      if ((tail & flag) != 0 || static_cast<distance>(tail - head) >= 0) return;
      // relaxed: as a read-modify-write it continues what others have released.
      if (tail_.compare_exchange_weak(tail, head, std::memory_order_relaxed,
                                      std::memory_order_relaxed)) {
        return;
      }
    }
  }

  // Written by producers.
  alignas(cache_line_bytes) typename Platform::template atomic<position> tail_;
  // Written by consumers.
  alignas(cache_line_bytes) typename Platform::template atomic<position> head_;
  // Written by the producers and consumers of each slot.
  alignas(cache_line_bytes) std::array<slot, segment_slots> slots_;
};

static_assert(run_queue<lprq::type<void*, native>, void*>);

}  // namespace heddle
