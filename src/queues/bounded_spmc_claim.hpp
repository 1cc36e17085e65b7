#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <heddle/base/assert.hpp>
#include <heddle/base/cache_line.hpp>
#include <heddle/queues/queue_traits.hpp>

namespace heddle {

/// Ring of one worker in which a thief first claims items, then copies them: two heads in one word,
/// `taken` before which slots may be written again and `claimed` before which items are spoken for.
/// They differ while a thief copies, and then no other thief may begin.
///
/// Source:   the local queue of Tokio's multi-thread scheduler (C. Lerche, "Making the Tokio
///           scheduler 10x faster", 2019; the two heads are of its version of 2020).
/// Threads:  try_push and try_pop owner only; try_steal any; steal_half_into the owner of the
///           receiving ring.
/// Progress: push wait-free, pop lock-free. A steal tries once and answers `contended` when another
///           thread was faster or another thief is copying: a thief that stalls there keeps its
///           slots and keeps the others off, but never the owner from its items.
/// Capacity: power of two, 2 to 2^16, default 256 as in Tokio; else std::invalid_argument.
/// Empty:    strict, for thieves too.   Full: spurious, since claimed slots count until copied.
/// Compared with bounded_spmc: a slot is read only by who has claimed it, so slots are plain memory
///           and nothing is copied in vain; in return a steal updates the heads twice.
/// Errata:   indices have 32 bits, and all differences wrap around (tokio#2362). Equal indices mean
///           empty, a difference of the capacity full: at most 2^16 slots never confuse the two
///           (tokio#2387). Both heads are compared at a claim, and they do not move past a thief
///           that copies; a thief that stalls between its look and its claim while exactly 2^32
///           items are popped is fooled (tokio#5041, where indices had 16 bits).
///
/// Synchronisation: [pushed] carries the items; [claimed] lets whoever sees a head see the tail
/// that allowed it; [copied] frees the slots.
struct bounded_spmc_claim {
  static constexpr queue_traits traits{
      .push = role::owner,
      .pop = role::owner,
      .full = truth::spurious,
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
class bounded_spmc_claim::type {
  static_assert(sizeof(T) <= sizeof(void*) && std::is_trivially_copyable_v<T>);

 public:
  using handle = stateless_handle;

  explicit type(const queue_options& options)
      : mask_(static_cast<index>(checked_capacity(traits, options, "bounded_spmc_claim") - 1)),
        slots_(std::make_unique<slot[]>(capacity())),
        tail_(static_cast<index>(options.first_index)),
        heads_(pack(
            {static_cast<index>(options.first_index), static_cast<index>(options.first_index)})) {}

  /// Owner only.
  push_result try_push(T item, handle&) {
    // relaxed: only this thread writes tail_.
    const index tail = tail_.load(std::memory_order_relaxed);
    // [copied] acquire ← release where `taken` moves: the slot was read before it is overwritten.
    if (tail - unpack(heads_.load(std::memory_order_acquire)).taken > mask_) {
      return push_result::full;
    }
    slot_at(tail).store(item);
    // [pushed] release → acquire in steal.
    tail_.store(tail + 1, std::memory_order_release);
    return push_result::ok;
  }

  /// Owner only.
  pop_result<T> try_pop(handle&) {
    // relaxed, both: this thread has written the items and the tail, or moved them here itself.
    const index tail = tail_.load(std::memory_order_relaxed);
    std::uint64_t seen = heads_.load(std::memory_order_relaxed);
    for (;;) {
      const heads now = unpack(seen);
      if (now.claimed == tail) return {};
      // A thief that copies moves `taken` itself, up to where the claims stand then.
      const heads then{now.taken == now.claimed ? now.claimed + 1 : now.taken, now.claimed + 1};
      // [claimed] release → acquire in steal. [copied] goes on through this update, and needs no
      // release for the slot that is read below: this thread is the one that would overwrite it.
      // relaxed on failure: as above.
      if (heads_.compare_exchange_weak(seen, pack(then), std::memory_order_release,
                                       std::memory_order_relaxed)) {
        return {pop_status::item, slot_at(now.claimed).load()};
      }
    }
  }

  /// Takes the oldest item.
  pop_result<T> try_steal(handle&) {
    const claim claim = claim_half(1);
    if (claim.status != pop_status::item) return {claim.status};
    const T item = slot_at(claim.first).load();
    end_copying(claim.first);
    return {pop_status::item, item};
  }

  /// Takes the oldest items of this ring: half of them, rounded up, but at most `most` (1 or more)
  /// and at most as many as `thief` has room for, plus one. The oldest is returned; the others
  /// follow in order behind the items of `thief`, which belongs to the calling thread.
  /// Complexity: linear in the number of items taken.
  pop_result<T> steal_half_into(type& thief, std::size_t most, handle&) {
    HEDDLE_ASSERT(&thief != this && most > 0);
    // relaxed: only this thread writes the thief's tail.
    const index thief_tail = thief.tail_.load(std::memory_order_relaxed);
    // [copied] acquire, as in try_push.
    const index thief_taken = unpack(thief.heads_.load(std::memory_order_acquire)).taken;
    const std::size_t room = thief.capacity() - static_cast<index>(thief_tail - thief_taken);
    const claim claim = claim_half(std::min(most, room + 1));
    if (claim.status != pop_status::item) return {claim.status};
    const T first = slot_at(claim.first).load();
    for (index offset = 1; offset < claim.count; ++offset) {
      thief.slot_at(thief_tail + offset - 1).store(slot_at(claim.first + offset).load());
    }
    end_copying(claim.first);
    // [pushed] release → acquire in claim_half.
    if (claim.count > 1) {
      thief.tail_.store(thief_tail + claim.count - 1, std::memory_order_release);
    }
    return {pop_status::item, first};
  }

  /// A caller that must not miss an item stands after a seq_cst fence, as with every queue.
  bool maybe_nonempty() const { return approximate_size() != 0; }

  /// Items that nobody has claimed.
  std::size_t approximate_size() const {
    // [claimed] acquire, and heads before tail: the difference is not negative. It may exceed the
    // capacity when items came and went between the two loads. relaxed: no slot is read.
    const index head = unpack(heads_.load(std::memory_order_acquire)).claimed;
    const index tail = tail_.load(std::memory_order_relaxed);
    return std::min<std::size_t>(static_cast<index>(tail - head), capacity());
  }

  std::size_t capacity() const { return std::size_t{mask_} + 1; }

 private:
  using index = std::uint32_t;
  using slot = typename Platform::template cell<T>;

  struct heads {
    index taken = 0;    ///< slots before it may be written again
    index claimed = 0;  ///< items before it belong to somebody
  };

  struct claim {
    pop_status status = pop_status::empty;
    index first = 0;
    index count = 0;
  };

  static constexpr std::uint64_t pack(heads heads) {
    return std::uint64_t{heads.taken} << 32 | heads.claimed;
  }
  static constexpr heads unpack(std::uint64_t packed) {
    return {static_cast<index>(packed >> 32), static_cast<index>(packed)};
  }

  slot& slot_at(index at) const { return slots_[at & mask_]; }

  /// Claims half of the items, rounded up, but at most `most`. Until end_copying() they are this
  /// thread's to read, and no other thief begins.
  claim claim_half(std::size_t most) {
    // [claimed] acquire ← release of an earlier claim: the tail that is read next is not behind it.
    std::uint64_t seen = heads_.load(std::memory_order_acquire);
    const heads now = unpack(seen);
    // [pushed] acquire ← release in try_push, and in steal_half_into that filled this ring.
    const index size = tail_.load(std::memory_order_acquire) - now.claimed;
    if (size == 0) return {};
    // Another thief copies; or items came and went between the two loads, and the claim would fail.
    if (now.taken != now.claimed || size > mask_ + 1) return {pop_status::contended};
    const auto count = static_cast<index>(std::min<std::size_t>(size - size / 2, most));
    // [claimed] release → acquire above. relaxed on failure: nothing follows from the value.
    if (!heads_.compare_exchange_strong(seen, pack({now.taken, now.claimed + count}),
                                        std::memory_order_release, std::memory_order_relaxed)) {
      return {pop_status::contended};
    }
    return {pop_status::item, now.claimed, count};
  }

  /// `first`: where the claim began, which is where `taken` has stayed since.
  void end_copying(index first) {
    // relaxed: it is a guess until the exchange succeeds.
    std::uint64_t seen = heads_.load(std::memory_order_relaxed);
    for (;;) {
      HEDDLE_ASSERT(unpack(seen).taken == first);
      // The owner may have claimed more meanwhile, and has read what it claimed, or will before it
      // pushes. [copied] release → acquire in try_push. relaxed on failure: as above.
      const index claimed = unpack(seen).claimed;
      if (heads_.compare_exchange_weak(seen, pack({claimed, claimed}), std::memory_order_release,
                                       std::memory_order_relaxed)) {
        return;
      }
    }
  }

  // Written by the constructor only.
  const index mask_;
  const std::unique_ptr<slot[]> slots_;
  // Written by the owner.
  alignas(cache_line_bytes) typename Platform::template atomic<index> tail_;
  // Written by whoever takes items.
  alignas(cache_line_bytes) typename Platform::template atomic<std::uint64_t> heads_;
};

static_assert(run_queue<bounded_spmc_claim::type<void*, native>, void*>);
static_assert(stealable<bounded_spmc_claim::type<void*, native>, void*>);
static_assert(half_stealing<bounded_spmc_claim::type<void*, native>, void*>);

}  // namespace heddle
