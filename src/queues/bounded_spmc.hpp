#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <heddle/base/assert.hpp>
#include <heddle/base/cache_line.hpp>
#include <heddle/queues/queue_traits.hpp>

namespace heddle {

/// Ring of one worker: the owner pushes, the owner and its thieves pop, and a thief can move half
/// of the items to its own ring in one step.
///
/// Source:   runqput, runqget and runqgrab of Go's scheduler (runtime/proc.go, since Go 1.5).
/// Threads:  try_push owner only; try_pop any; steal_half_into the owner of the receiving ring.
/// Progress: push wait-free. Pop and steal try once and answer `contended` when another thread was
///           faster: the owner looks again, a thief may turn to another victim.
/// Capacity: power of two, 2 to 2^16, default 256 as in Go; else std::invalid_argument.
/// Empty:    strict, for thieves too.   Full: strict.
/// Errata:   indices have 32 bits, and all differences wrap around (tokio#2362). Equal indices mean
///           empty, a difference of the capacity full: at most 2^16 slots never confuse the two
///           (tokio#2387). A thief that stalls between its look and its claim while exactly 2^32
///           items are popped is fooled (tokio#5041, where indices had 16 bits). Thieves acquire
///           tail; with libfev's relaxed load they read slots that are not yet written.
///
/// Synchronisation: [pushed] carries the items; [taken] frees their slots, and lets whoever sees a
/// head see the tail that allowed it.
struct bounded_spmc {
  static constexpr queue_traits traits{
      .push = role::owner,
      .push_progress = progress::wait_free,
      .bounded = true,
      .smallest_capacity = 2,
      .largest_capacity = std::size_t{1} << 16,
      .default_capacity = 256,
      .power_of_two_capacity = true,
      .steals_half = true,
  };

  template <class T, class Platform>
  class type;
};

template <class T, class Platform>
class bounded_spmc::type {
  static_assert(sizeof(T) <= sizeof(void*) && std::is_trivially_copyable_v<T>);

 public:
  using handle = stateless_handle;

  explicit type(const queue_options& options)
      : mask_(static_cast<index>(checked_capacity(traits, options, "bounded_spmc") - 1)),
        slots_(std::make_unique<slot[]>(capacity())),
        tail_(static_cast<index>(options.first_index)),
        head_(static_cast<index>(options.first_index)) {}

  /// Owner only.
  push_result try_push(T item, handle&) {
    // relaxed: only this thread writes tail_.
    const index tail = tail_.load(std::memory_order_relaxed);
    // [taken] acquire ← release of a claim: the slot was read before it is overwritten.
    if (tail - head_.load(std::memory_order_acquire) > mask_) return push_result::full;
    // relaxed: [pushed] publishes it. Atomic, since one that will lose its claim may be reading.
    slot_at(tail).store(item, std::memory_order_relaxed);
    // [pushed] release → acquire in try_pop and steal_half_into.
    tail_.store(tail + 1, std::memory_order_release);
    return push_result::ok;
  }

  pop_result<T> try_pop(handle&) {
    // [taken] acquire ← release of an earlier claim: the tail that is read next is not behind head.
    const index head = head_.load(std::memory_order_acquire);
    // [pushed] acquire ← release in try_push, and in steal_half_into that filled this ring.
    if (tail_.load(std::memory_order_acquire) == head) return {};
    // relaxed: [pushed] made the item visible. When head_ has moved on, the slot may hold a later
    // item, and the claim fails.
    const T item = slot_at(head).load(std::memory_order_relaxed);
    if (!claim(head, head + 1)) return {pop_status::contended};
    return {pop_status::item, item};
  }

  /// Takes the oldest items of this ring: half of them, rounded up, but at most `most` (1 or more)
  /// and at most as many as `thief` has room for, plus one. The oldest is returned; the others
  /// follow in order behind the items of `thief`, which belongs to the calling thread.
  /// Complexity: linear in the number of items taken.
  pop_result<T> steal_half_into(type& thief, std::size_t most, handle&) {
    HEDDLE_ASSERT(&thief != this && most > 0);
    const index head = head_.load(std::memory_order_acquire);  // [taken] acquire, as in try_pop.
    const index size = tail_.load(std::memory_order_acquire) - head;  // [pushed] acquire, likewise.
    if (size == 0) return {};
    // Items came and went between the two loads, so the claim would fail.
    if (size > mask_ + 1) return {pop_status::contended};
    // relaxed: only this thread writes the thief's tail.
    const index thief_tail = thief.tail_.load(std::memory_order_relaxed);
    // [taken] acquire ← release of a claim on the thief's ring, as in try_push.
    const index thief_size = thief_tail - thief.head_.load(std::memory_order_acquire);
    const std::size_t room = thief.capacity() - thief_size;
    const auto count = static_cast<index>(std::min({std::size_t{size - size / 2}, most, room + 1}));
    // relaxed, both sides: as in try_pop and try_push. Until the claim succeeds the copies stand
    // behind the thief's tail, where nobody looks.
    const T first = slot_at(head).load(std::memory_order_relaxed);
    for (index offset = 1; offset < count; ++offset) {
      thief.slot_at(thief_tail + offset - 1)
          .store(slot_at(head + offset).load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    if (!claim(head, head + count)) return {pop_status::contended};
    // [pushed] release → acquire in try_pop and steal_half_into.
    if (count > 1) thief.tail_.store(thief_tail + count - 1, std::memory_order_release);
    return {pop_status::item, first};
  }

  /// A caller that must not miss an item stands after a seq_cst fence, as with every queue.
  bool maybe_nonempty() const { return approximate_size() != 0; }

  std::size_t approximate_size() const {
    // [taken] acquire, and head before tail: the difference is not negative. It may exceed the
    // capacity when items came and went between the two loads. relaxed: no slot is read.
    const index head = head_.load(std::memory_order_acquire);
    const index tail = tail_.load(std::memory_order_relaxed);
    return std::min<std::size_t>(static_cast<index>(tail - head), capacity());
  }

  std::size_t capacity() const { return std::size_t{mask_} + 1; }

 private:
  using index = std::uint32_t;
  using slot = typename Platform::template atomic<T>;

  slot& slot_at(index at) const { return slots_[at & mask_]; }

  /// Takes the items from `from` up to `to`, unless another thread took any of them.
  bool claim(index from, index to) {
    // [taken] release → acquire of head_: the slots were read, and the tail that allowed the claim
    // was seen, before head moves. relaxed on failure: nothing follows from the value.
    return head_.compare_exchange_strong(from, to, std::memory_order_release,
                                         std::memory_order_relaxed);
  }

  // Written by the constructor only.
  const index mask_;
  const std::unique_ptr<slot[]> slots_;
  // Written by the owner.
  alignas(cache_line_bytes) typename Platform::template atomic<index> tail_;
  // Written by whoever pops.
  alignas(cache_line_bytes) typename Platform::template atomic<index> head_;
};

static_assert(run_queue<bounded_spmc::type<void*, native>, void*>);
static_assert(half_stealing<bounded_spmc::type<void*, native>, void*>);

}  // namespace heddle
