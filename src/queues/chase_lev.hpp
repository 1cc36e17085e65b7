#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <heddle/base/cache_line.hpp>
#include <heddle/queues/queue_traits.hpp>

namespace heddle {

/// Deque of one worker: the owner pushes and pops at the bottom, thieves take from the top. Only
/// for the last item do they compete, by an exchange of `top`.
///
/// Source:   D. Chase, Y. Lev, "Dynamic circular work-stealing deque", SPAA 2005, in the form for
///           C11 of N. M. Le, A. Pop, A. Cohen, F. Zappa Nardelli, "Correct and efficient
///           work-stealing for weak memory models", PPoPP 2013.
/// Threads:  try_push and try_pop owner only; try_steal any.
/// Progress: push and pop wait-free, but for the allocator. try_steal tries once and answers
///           `contended` when another thread was faster; one of them has then got the item.
/// Capacity: none; try_push never answers full, may allocate, and throws std::bad_alloc with the
///           item not queued. The ring doubles and never shrinks; a thief may still read an old
///           one, so all live as long as the deque: together they are smaller than the newest.
/// Order:    try_pop the newest, try_steal the oldest.
/// Empty:    strict, for thieves too.
/// Errata:   as PPoPP 2013 prints it, a take from an empty deque computes bottom - 1 without a sign
///           and passes for a deque of 2^64 - 1 items; here differences have a sign, and so wrap
///           around. Its consume load of the ring is no compiler's: it is an acquire load here, of
///           a ring that is released (else a thief reads unwritten slots of a new ring). Its
///           release fence in push also covers the stores of bottom in later takes; with a release
///           store in its place, those must release as well, since in C++20 a plain store by the
///           same thread does not carry on a release sequence. A thief reads the slot before its
///           claim: afterwards the owner may reuse it.
///
/// Synchronisation: [pushed] carries the items, [grown] a ring with its copies; [stolen] frees
/// slots. Owner and thief agree on the last items by store, seq_cst fence, load:
///
///   owner: try_pop                          thief: try_steal
///   --------------                          ----------------
///   bottom_ = b            [take]           load top_ = t, written by another's claim
///   fence                                   fence
///   load top_                               load bottom_
///
/// Either the owner sees that claim, so it competes for the item at b or leaves it; or the thief
/// sees the lowered bottom, so it leaves the item at b alone.
struct chase_lev {
  static constexpr queue_traits traits{
      .push = role::owner,
      .pop = role::owner,
      .order = queue_order::lifo_owner_fifo_thief,
      .push_progress = progress::wait_free,
      .allocates = true,
  };

  template <class T, class Platform>
  class type;
};

template <class T, class Platform>
class chase_lev::type {
  static_assert(sizeof(T) <= sizeof(void*) && std::is_trivially_copyable_v<T>);

 public:
  using handle = stateless_handle;

  explicit type(const queue_options& options)
      : bottom_(options.first_index),
        ring_(std::make_unique<ring>(first_slots).release()),
        top_(options.first_index) {}

  ~type() {
    // relaxed: whoever destroys the deque has been told that nobody uses it.
    for (ring* one = ring_.load(std::memory_order_relaxed); one != nullptr;) {
      delete std::exchange(one, one->previous);
    }
  }

  /// Owner only. Complexity: amortised constant.
  push_result try_push(T item, handle&) {
    // relaxed: only this thread writes bottom_ and ring_.
    const position bottom = bottom_.load(std::memory_order_relaxed);
    ring* ring = ring_.load(std::memory_order_relaxed);
    // [stolen] acquire ← release of a claim: the thief has read the slot that is written next.
    const position top = top_.load(std::memory_order_acquire);
    if (bottom - top > ring->mask) [[unlikely]] {
      ring = grow(*ring, top, bottom);
    }
    // relaxed: [pushed] publishes it. Atomic, since one that will lose its claim may be reading.
    ring->at(bottom).store(item, std::memory_order_relaxed);
    // [pushed] release → acquire in try_steal.
    bottom_.store(bottom + 1, std::memory_order_release);
    return push_result::ok;
  }

  /// Owner only.
  pop_result<T> try_pop(handle&) {
    // relaxed: as in try_push. An old top is enough to know that there is nothing.
    const position newest = bottom_.load(std::memory_order_relaxed) - 1;
    if (ahead(newest, top_.load(std::memory_order_relaxed)) < 0) return {};
    // [take], see the table. [pushed] release: a thief that sees it takes older items.
    bottom_.store(newest, std::memory_order_release);
    Platform::fence(std::memory_order_seq_cst);
    // relaxed, here and on failure of the claim: the fence orders it, and no slot is written yet.
    position top = top_.load(std::memory_order_relaxed);
    const distance others = ahead(newest, top);
    pop_result<T> result;
    if (others >= 0) {
      // relaxed: this thread has written it.
      const ring& ring = *ring_.load(std::memory_order_relaxed);
      result = {pop_status::item, ring.at(newest).load(std::memory_order_relaxed)};
      if (others > 0) return result;  // Thieves stop below it.
      // [stolen] release → acquire in try_steal: whoever sees the claim sees the bottom before it.
      if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_release,
                                        std::memory_order_relaxed)) {
        result = {};  // A thief has got the last one.
      }
    }
    // [pushed] release, as above.
    bottom_.store(newest + 1, std::memory_order_release);
    return result;
  }

  /// Threads: any.
  pop_result<T> try_steal(handle&) {
    // [stolen] acquire ← release of a claim.
    position top = top_.load(std::memory_order_acquire);
    Platform::fence(std::memory_order_seq_cst);  // see the table
    // [pushed] acquire ← release of bottom_: the item at top, and the ring that it was written to.
    if (ahead(bottom_.load(std::memory_order_acquire), top) <= 0) return {};
    // [grown] acquire ← release in grow: it may be newer than what bottom_ told of.
    const ring& ring = *ring_.load(std::memory_order_acquire);
    // relaxed: [pushed] or [grown] made it visible. When top_ has moved on, the slot may hold a
    // later item, and the claim fails.
    const T item = ring.at(top).load(std::memory_order_relaxed);
    // [stolen] release → acquire in try_push: the slot is read before it is written again. relaxed
    // on failure: nothing follows from the value.
    if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_release,
                                      std::memory_order_relaxed)) {
      return {pop_status::contended};
    }
    return {pop_status::item, item};
  }

  /// While the owner pops the last item it may be false already. A caller that must not miss an
  /// item stands after a seq_cst fence, as with every queue.
  bool maybe_nonempty() const { return approximate_size() != 0; }

  std::size_t approximate_size() const {
    // [stolen] acquire, and top before bottom: so nothing that is there is missed. relaxed: no slot
    // is read. Negative while the owner looks for an item in vain.
    const position top = top_.load(std::memory_order_acquire);
    const position bottom = bottom_.load(std::memory_order_relaxed);
    return static_cast<std::size_t>(std::max<distance>(ahead(bottom, top), 0));
  }

  std::size_t capacity() const { return 0; }

 private:
  using position = std::uint64_t;
  using distance = std::int64_t;  // a difference of positions that may have wrapped around
  using slot = typename Platform::template atomic<T>;

  static constexpr std::size_t first_slots = explored<Platform> ? 2 : 64;

  struct ring {
    explicit ring(std::size_t size) : mask(size - 1), slots(std::make_unique<slot[]>(size)) {}
    slot& at(position position) const { return slots[position & mask]; }

    const position mask;
    const std::unique_ptr<slot[]> slots;
    ring* previous = nullptr;  ///< half as large
  };

  static distance ahead(position of, position than) { return static_cast<distance>(of - than); }

  /// Complexity: linear in the number of items.
  ring* grow(ring& full, position top, position bottom) {
    auto larger = std::make_unique<ring>(2 * (full.mask + 1));
    // relaxed: [grown] publishes the copies, and this thread wrote the originals.
    for (position at = top; at != bottom; ++at) {
      larger->at(at).store(full.at(at).load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    larger->previous = &full;
    // [grown] release → acquire in try_steal.
    ring_.store(larger.get(), std::memory_order_release);
    return larger.release();
  }

  // Written by the owner.
  alignas(cache_line_bytes) typename Platform::template atomic<position> bottom_;
  typename Platform::template atomic<ring*> ring_;
  // Written by whoever takes the oldest item.
  alignas(cache_line_bytes) typename Platform::template atomic<position> top_;
};

static_assert(run_queue<chase_lev::type<void*, native>, void*>);
static_assert(stealable<chase_lev::type<void*, native>, void*>);

}  // namespace heddle
