#pragma once

#include <array>
#include <cstdint>

#include "mutant.hpp"

namespace heddle::mutants {

enum class next_slot_bug {
  none,
  tail_not_looked_at_again,  ///< M22
};

/// Run queue of a worker in Go's design: what was made runnable last waits in a slot of its own and
/// runs next; the next one pushes it out into the ring. Others ask whether the worker has work.
///
/// [pushed] carries the items of the ring; [slot] lets whoever sees a slot emptied see the tail of
/// before, at which the item pushed out of it stands.
template <class Platform, next_slot_bug Bug>
class next_slot_queue {
  using bug = next_slot_bug;

 public:
  using handle = stateless_handle;

  explicit next_slot_queue(const queue_options&) {}

  /// Owner only.
  push_result try_push(int item, handle&) {
    const int pushed_out = slot_.exchange(item, std::memory_order_acq_rel);
    if (pushed_out == 0) return push_result::ok;
    const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    ring_[tail % ring_.size()].store(pushed_out);
    tail_.store(tail + 1, std::memory_order_release);  // [pushed]
    return push_result::ok;
  }

  /// Owner only.
  pop_result<int> try_pop(handle&) {
    // acq_rel: [slot] release → acquire in maybe_nonempty.
    if (const int item = slot_.exchange(0, std::memory_order_acq_rel)) {
      return {pop_status::item, item};
    }
    const std::uint32_t head = head_.load(std::memory_order_relaxed);
    if (tail_.load(std::memory_order_relaxed) == head) return {};
    const int item = ring_[head % ring_.size()].load();
    head_.store(head + 1, std::memory_order_release);
    return {pop_status::item, item};
  }

  /// Any thread: false proves that the worker had nothing to run.
  bool maybe_nonempty() const {
    for (;;) {
      const std::uint32_t head = head_.load(std::memory_order_acquire);
      const std::uint32_t tail = tail_.load(std::memory_order_acquire);  // [pushed]
      const int next = slot_.load(std::memory_order_acquire);            // [slot]
      // Between the looks the item of the slot may have been pushed out, and its successor taken.
      if (Bug == bug::none && tail != tail_.load(std::memory_order_acquire)) continue;
      return head != tail || next != 0;
    }
  }

 private:
  std::array<typename Platform::template cell<int>, 4> ring_;
  typename Platform::template atomic<std::uint32_t> tail_{0};
  typename Platform::template atomic<std::uint32_t> head_{0};
  typename Platform::template atomic<int> slot_{0};
};

template <next_slot_bug Bug>
struct next_slot {
  template <class T, class Platform>
  using type = next_slot_queue<Platform, Bug>;
};

}  // namespace heddle::mutants
