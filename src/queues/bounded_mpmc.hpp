#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <heddle/base/cache_line.hpp>
#include <heddle/queues/queue_traits.hpp>

namespace heddle {

/// Ring of cells; a cell's sequence number says whose turn it is, a producer's or a consumer's.
///
/// Source:   D. Vyukov, "Bounded MPMC queue", 1024cores.net, 2010.
/// Threads:  every operation any.
/// Progress: no call waits, but the queue is not lock-free: a producer that stalls between its
///           claim and its write holds up every item behind it, a stalled consumer its cell.
/// Capacity: power of two, 2 to 2^20, default 4096; else std::invalid_argument. 4096 cells are
///           64 KiB: they stay in a second-level cache, and thousands of runnable fibers fit. With
///           1, "written in this lap" and "free for the next" would be the same number.
/// Empty:    spurious: an item behind a stalled producer cannot be taken. Where the positions show
///           that a claim is outstanding the answer is `contended`; `empty` says they were equal.
/// Full:     spurious: a stalled consumer keeps its cell although later ones are free.
/// Errata:   a thread that pushes, then pops, may find the unfinished push of another in front of
///           its own; to call that empty was agrona#216, and here it is `contended`. Positions have
///           64 bits, so no stall lasts until they wrap around.
///
/// Synchronisation: [filled] and [freed] carry the item through the sequence of its cell; [drained]
/// lets whoever sees a head see the tail that allowed it.
struct bounded_mpmc {
  static constexpr queue_traits traits{
      .empty = truth::spurious,
      .full = truth::spurious,
      .push_progress = progress::blocking,
      .pop_progress = progress::blocking,
      .bounded = true,
      .smallest_capacity = 2,
      .largest_capacity = std::size_t{1} << 20,
      .default_capacity = 4096,
      .power_of_two_capacity = true,
  };

  template <class T, class Platform>
  class type;
};

template <class T, class Platform>
class bounded_mpmc::type {
  static_assert(sizeof(T) <= sizeof(void*) && std::is_trivially_copyable_v<T>);

 public:
  using handle = stateless_handle;

  explicit type(const queue_options& options)
      : mask_(checked_capacity(traits, options, "bounded_mpmc") - 1),
        cells_(std::make_unique<cell[]>(mask_ + 1)),
        tail_(options.first_index),
        head_(options.first_index) {
    // relaxed: whoever hands the queue to other threads orders its construction before their use.
    for (position offset = 0; offset <= mask_; ++offset) {
      const position at = options.first_index + offset;
      cells_[at & mask_].sequence.store(at, std::memory_order_relaxed);
    }
  }

  push_result try_push(T item, handle&) {
    // relaxed: a guess. An old position shows in the cell's sequence or makes the claim fail.
    position at = tail_.load(std::memory_order_relaxed);
    for (;;) {
      cell& cell = cells_[at & mask_];
      // [freed] acquire ← release in try_pop: the item of the last lap was read before this write.
      const distance ahead = cell.sequence.load(std::memory_order_acquire) - at;
      if (ahead == 0) {
        // relaxed: the claim only hands out turns; [filled] publishes the item.
        if (tail_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
          cell.item.store(item);
          // [filled] release → acquire in try_pop: the item is written before its turn begins.
          cell.sequence.store(at + 1, std::memory_order_release);
          return push_result::ok;
        }
      } else if (ahead < 0) {
        return push_result::full;
      } else {
        at = tail_.load(std::memory_order_relaxed);
      }
    }
  }

  pop_result<T> try_pop(handle&) {
    // [drained] acquire ← release of the claim below.
    position at = head_.load(std::memory_order_acquire);
    for (;;) {
      cell& cell = cells_[at & mask_];
      // [filled] acquire ← release in try_push.
      const distance ahead = cell.sequence.load(std::memory_order_acquire) - (at + 1);
      if (ahead == 0) {
        // [drained] release → acquire of head_: by [filled] this thread knows that tail_ has passed
        // `at`, so whoever sees the new head also sees a tail that is not behind it.
        if (head_.compare_exchange_weak(at, at + 1, std::memory_order_release,
                                        std::memory_order_acquire)) {
          const T item = cell.item.load();
          // [freed] release → acquire in try_push, one lap later.
          cell.sequence.store(at + mask_ + 1, std::memory_order_release);
          return {pop_status::item, item};
        }
      } else if (ahead < 0) {
        // The cell at the head is not written. relaxed: a push that completed before this call is
        // visible here already, and [drained] keeps tail_ from lagging behind `at`.
        if (tail_.load(std::memory_order_relaxed) == at) return {};
        return {pop_status::contended};
      } else {
        at = head_.load(std::memory_order_acquire);
      }
    }
  }

  /// Compares positions, so it is true also while the only item is still being written. A caller
  /// that must not miss an item stands after a seq_cst fence, as with every queue.
  bool maybe_nonempty() const { return approximate_size() != 0; }

  std::size_t approximate_size() const {
    // [drained] acquire ← release in try_pop, and head before tail: the difference is not negative.
    // It may exceed the capacity when items came and went between the two loads.
    const position head = head_.load(std::memory_order_acquire);
    const position tail = tail_.load(std::memory_order_relaxed);
    return std::min<position>(tail - head, capacity());
  }

  std::size_t capacity() const { return mask_ + 1; }

 private:
  using position = std::uint64_t;
  using distance = std::int64_t;  // a difference of positions that may have wrapped around

  struct cell {
    /// p: free for the push at position p; p + 1: holds the item of p; p + capacity: free again.
    typename Platform::template atomic<position> sequence{0};
    typename Platform::template cell<T> item;
  };

  // Written by the constructor only.
  const position mask_;
  const std::unique_ptr<cell[]> cells_;
  // Written by producers.
  alignas(cache_line_bytes) typename Platform::template atomic<position> tail_;
  // Written by consumers.
  alignas(cache_line_bytes) typename Platform::template atomic<position> head_;
};

static_assert(run_queue<bounded_mpmc::type<void*, native>, void*>);

}  // namespace heddle
