#pragma once

#include <memory>
#include <type_traits>

#include <oneapi/tbb/concurrent_queue.h>

#include <heddle/queues/queue_traits.hpp>

namespace heddle {

/// Adapter over tbb::concurrent_queue: tickets spread over eight lists of pages.
///
/// Source:   oneTBB, as Debian's package libtbb-dev (2021.8).
/// Threads:  every operation any.
/// Progress: blocking: each of the eight lists takes its pushes in the order of their tickets, and
///           a pop waits for the push of its ticket.
/// Capacity: none; try_push never answers full, may allocate, and throws std::bad_alloc.
/// Empty:    strict when quiescent: try_pop reads the two counters relaxed, so that on a processor
///           that reorders loads a new head may meet an old tail (oneTBB#782, corrected later).
///
/// The library uses std::atomic itself and not Platform: it cannot run under the explorer, and the
/// knob first_index has no effect.
struct tbb {
  static constexpr queue_traits traits{
      .empty = truth::strict_when_quiescent,
      .push_progress = progress::blocking,
      .pop_progress = progress::blocking,
      .allocates = true,
      .native_only = true,
  };

  template <class T, class Platform>
  class type;
};

template <class T, class Platform>
class tbb::type {
  static_assert(std::is_same_v<Platform, native>,
                "tbb uses std::atomic, not Platform: it runs on heddle::native only");
  static_assert(sizeof(T) <= sizeof(void*) && std::is_trivially_copyable_v<T>);

 public:
  using handle = stateless_handle;

  explicit type(const queue_options&) {}

  push_result try_push(T item, handle&) {
    queue_.push(item);
    return push_result::ok;
  }

  pop_result<T> try_pop(handle&) {
    pop_result<T> result;
    if (queue_.try_pop(result.item)) result.status = pop_status::item;
    return result;
  }

  /// The library compares its counters, tail before head: a push that completed before the call has
  /// passed the tail, and no head passes it before its pop. A caller that must not miss an item
  /// stands after a seq_cst fence, as with every queue.
  bool maybe_nonempty() const { return !queue_.empty(); }
  std::size_t approximate_size() const { return queue_.unsafe_size(); }
  std::size_t capacity() const { return 0; }

 private:
#if defined(HEDDLE_TSAN)
  // ThreadSanitizer does not see into the library's allocator: a page that comes back from it looks
  // like a race between its last reader and its next writer.
  using library_queue = ::tbb::concurrent_queue<T, std::allocator<T>>;
#else
  using library_queue = ::tbb::concurrent_queue<T>;
#endif

  library_queue queue_;
};

static_assert(run_queue<tbb::type<void*, native>, void*>);

}  // namespace heddle
