#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include <heddle/base/cache_line.hpp>
#include <heddle/queues/hazard_pointers.hpp>
#include <heddle/queues/line_spread.hpp>
#include <heddle/queues/queue_traits.hpp>
#include <heddle/queues/segment_list.hpp>

namespace heddle {

/// Segments of slots that are used once: a fetch-and-add gives each push and each pop a slot of its
/// own, where the two meet. A pop that comes first spoils the slot, and both go on to the next.
///
/// Source:   P. Ramalhete, A. Correia, "FAAArrayQueue", concurrencyfreaks.com, 2016; the two
///           indices come from A. Morrison, Y. Afek, "Fast concurrent queues for x86 processors",
///           PPoPP 2013.
/// Threads:  every operation any.
/// Progress: lock-free, but for the allocator: a pop spoils a slot only when a push has begun.
/// Capacity: none; try_push never answers full, may allocate, and throws std::bad_alloc. 1024 slots
///           of 16 bytes a segment. An item stands beside the state of its slot rather than in it,
///           so no value of T is reserved.
/// Empty:    strict.
/// Errata:   a pop looks at the pop index before the push index, and acquires it, else it may see
///           the pops of a thread and not its pushes (oneTBB#782). See also segment_list.
///
/// Each segment begins at index 0, so the knob first_index has no effect.
///
/// Synchronisation: [filled] carries an item from its push to its pop through the slot's state;
/// [popped] lets whoever sees a pop see the pushes that its thread had seen; [linked] is
/// segment_list's.
template <class Reclamation>
struct basic_faa_array {
  static constexpr queue_traits traits{.allocates = true};

  template <class T, class Platform>
  struct segment;

  template <class T, class Platform>
  using type = segment_list<T, segment<T, Platform>, Reclamation, Platform>;
};

template <class Reclamation>
template <class T, class Platform>
struct basic_faa_array<Reclamation>::segment : linked_segment<segment<T, Platform>, Platform> {
  static_assert(sizeof(T) <= sizeof(void*) && std::is_trivially_copyable_v<T>);

  static constexpr std::size_t segment_slots = explored<Platform> ? 2 : 1024;

  segment(std::uint64_t number, const queue_options&) : linked_segment<segment, Platform>(number) {}

  push_result try_push(T item, const void* /*identity*/) {
    for (;;) {
      // relaxed: it only hands out slots; who has seen the end of them has seen it here.
      const std::uint64_t at = push_index_.fetch_add(1, std::memory_order_relaxed);
      if (at >= segment_slots) return push_result::full;
      slot& slot = slots_[slot_of(at)];
      slot.item.store(item);  // Read by nobody, unless the exchange succeeds.
      // [filled] release → acquire in try_pop. relaxed on failure: the slot is spoilt.
      state expected = state::unused;
      if (slot.state.compare_exchange_strong(expected, state::filled, std::memory_order_release,
                                             std::memory_order_relaxed)) {
        return push_result::ok;
      }
    }
  }

  pop_result<T> try_pop() {
    for (;;) {
      if (size() == 0) return {};
      // [popped] release → acquire in size(); acquire, so that this pop passes on what it follows.
      const std::uint64_t at = pop_index_.fetch_add(1, std::memory_order_acq_rel);
      if (at >= segment_slots) return {};
      slot& slot = slots_[slot_of(at)];
      // [filled] acquire ← release in try_push. No other thread comes to a slot that is filled, so
      // that a look is enough and the exchange, which costs as much as a fence, is for the others.
      if (slot.state.load(std::memory_order_acquire) == state::filled ||
          slot.state.exchange(state::taken, std::memory_order_acquire) == state::filled) {
        return {pop_status::item, slot.item.load()};
      }
    }
  }

  /// Pushes that have a slot and no pop has come to. A push that has completed is seen by who must
  /// see it, so 0 proves that the segment was empty.
  std::size_t size() const {
    // [popped] acquire ← release in try_pop, and this index first: each pop that is seen here was
    // allowed by pushes that are seen below.
    const std::uint64_t popped = pop_index_.load(std::memory_order_acquire);
    // relaxed: [popped], and whatever told the caller of a push.
    const std::uint64_t pushed =
        std::min<std::uint64_t>(push_index_.load(std::memory_order_relaxed), segment_slots);
    return pushed > popped ? pushed - popped : 0;
  }

 private:
  enum class state : std::uint32_t { unused, filled, taken };

  struct slot {
    typename Platform::template cell<T> item;
    typename Platform::template atomic<enum state> state{state::unused};
  };

  static constexpr line_spread slot_of{segment_slots, sizeof(slot)};

  // Written by producers.
  alignas(cache_line_bytes) typename Platform::template atomic<std::uint64_t> push_index_{0};
  // Written by consumers.
  alignas(cache_line_bytes) typename Platform::template atomic<std::uint64_t> pop_index_{0};
  // Written by the one producer and the one consumer of each slot.
  alignas(cache_line_bytes) std::array<slot, segment_slots> slots_;
};

/// With hazard pointers.
struct faa_array : basic_faa_array<hazard_pointers> {};

static_assert(run_queue<faa_array::type<void*, native>, void*>);

}  // namespace heddle
