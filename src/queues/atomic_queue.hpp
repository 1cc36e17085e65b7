#pragma once

#include <type_traits>

#include <atomic_queue/atomic_queue.h>

#include <heddle/queues/queue_traits.hpp>

namespace heddle {

/// Adapter over atomic_queue::AtomicQueueB: a ring whose two counters hand out slots.
///
/// Source:   M. Egorushkin, atomic_queue, as Debian's package libatomic-queue-dev (2022-05-18).
///           Debian 12 cannot install that beside Boost 1.81, but the headers alone are enough.
/// Threads:  every operation any.   Items: any pointer but a null one, which marks a free slot.
/// Progress: blocking: a pop waits for the push of its slot, a push for the pop of the lap before.
/// Capacity: power of two, 64 to 2^20, default 4096; else std::invalid_argument.
/// Order:    none promised: while a producer stalls between its claim and its write, and a consumer
///           waits there, a producer of the next lap may fill the slot first.
/// Empty:    strict when quiescent, and full likewise: the two counters are read relaxed, and a
///           claimed slot counts as filled, or freed, before it is.
/// Errata:   a pop takes the item by an exchange that only releases, so what the item points to is
///           not ordered by the library; here a fence after it does that. Its partner in the push
///           is for ThreadSanitizer, where a fence is an operation on a word: the library's own
///           release would do.
///
/// The library uses std::atomic itself and not Platform: it cannot run under the explorer, and the
/// knob first_index has no effect.
struct atomic_queue {
  static constexpr queue_traits traits{
      .order = queue_order::relaxed,
      .empty = truth::strict_when_quiescent,
      .full = truth::strict_when_quiescent,
      .push_progress = progress::blocking,
      .pop_progress = progress::blocking,
      .bounded = true,
      .smallest_capacity = 64,
      .largest_capacity = std::size_t{1} << 20,
      .default_capacity = 4096,
      .power_of_two_capacity = true,
      .native_only = true,
  };

  template <class T, class Platform>
  class type;
};

template <class T, class Platform>
class atomic_queue::type {
  static_assert(std::is_same_v<Platform, native>,
                "atomic_queue uses std::atomic, not Platform: it runs on heddle::native only");
  static_assert(std::is_pointer_v<T>);

 public:
  using handle = stateless_handle;

  explicit type(const queue_options& options)
      : capacity_(checked_capacity(traits, options, "atomic_queue")),
        queue_(static_cast<unsigned>(capacity_)) {}

  push_result try_push(T item, handle&) {
    // [passed on] release → acquire in try_pop; the library's update of the slot stands between.
    Platform::fence(std::memory_order_release);
    return queue_.try_push(item) ? push_result::ok : push_result::full;
  }

  pop_result<T> try_pop(handle&) {
    pop_result<T> result;
    if (queue_.try_pop(result.item)) {
      Platform::fence(std::memory_order_acquire);  // [passed on] acquire ← release in try_push.
      result.status = pop_status::item;
    }
    return result;
  }

  /// The library compares its counters: a push that completed before the call has passed the one,
  /// and the other does not pass it before its pop. A caller that must not miss an item stands
  /// after a seq_cst fence, as with every queue.
  bool maybe_nonempty() const { return !queue_.was_empty(); }
  std::size_t approximate_size() const { return queue_.was_size(); }
  std::size_t capacity() const { return capacity_; }

 private:
  const std::size_t capacity_;
  ::atomic_queue::AtomicQueueB<T> queue_;
};

static_assert(run_queue<atomic_queue::type<void*, native>, void*>);

}  // namespace heddle
