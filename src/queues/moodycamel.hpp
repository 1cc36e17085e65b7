#pragma once

#include <new>
#include <optional>
#include <type_traits>

#include <heddle/queues/queue_traits.hpp>

// The library orders the reuse of a block by a relaxed load and a fence, which ThreadSanitizer does
// not model: it reports races between the last reader of a slot and its next writer. Its plain
// accesses are therefore left out of the check; its atomics stay in, so that what they order in the
// programs that use the queue is still checked.
#if defined(__clang__) && defined(HEDDLE_TSAN)
#pragma clang attribute push(__attribute__((no_sanitize("thread"))), apply_to = function)
#endif
#include <concurrentqueue/concurrentqueue.h>
#if defined(__clang__) && defined(HEDDLE_TSAN)
#pragma clang attribute pop
#endif

namespace heddle {

/// Adapter over moodycamel::ConcurrentQueue: one sub-queue per producer, which consumers visit in
/// turn. A producer is a handle that has pushed.
///
/// Source:   C. Desrochers, "A fast general purpose lock-free queue for C++", 2014, as Debian's
///           package libconcurrentqueue-dev (1.0.3), with explicit tokens: its fastest way in.
/// Threads:  every operation any.
/// Progress: lock-free, but for the allocator.
/// Capacity: none; try_push never answers full, may allocate, and throws std::bad_alloc.
/// Order:    FIFO per producer only; consumers change producers every 256 items.
/// Empty:    spurious: a consumer that counted itself in and found nothing is subtracted later, and
///           until then an item may look taken (concurrentqueue#265).
/// Errata:   headIndex.fetch_add, once relaxed (commit 0947618), is acquire and release in 1.0.3.
///           The wrap-around of 32-bit indices (concurrentqueue#119) does not concern 64 bits. The
///           unordered reuse of blocks from the free list (concurrentqueue#404) concerns implicit
///           producers, which are disabled.
///
/// The library uses std::atomic itself and not Platform: it cannot run under the explorer, and the
/// knob first_index has no effect.
struct moodycamel {
  static constexpr queue_traits traits{
      .order = queue_order::fifo_per_producer,
      .empty = truth::spurious,
      .allocates = true,
      .native_only = true,
  };

  template <class T, class Platform>
  class type;
};

template <class T, class Platform>
class moodycamel::type {
  static_assert(std::is_same_v<Platform, native>,
                "moodycamel uses std::atomic, not Platform: it runs on heddle::native only");
  static_assert(sizeof(T) <= sizeof(void*) && std::is_trivially_copyable_v<T>);

  /// 0 disables implicit producers: everybody comes with a token.
  struct library_traits : ::moodycamel::ConcurrentQueueDefaultTraits {
    static constexpr std::size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = 0;
  };
  using library_queue = ::moodycamel::ConcurrentQueue<T, library_traits>;

 public:
  /// Tokens are made at the first use: a producer that never pushes would be one more sub-queue for
  /// every consumer to visit.
  class handle {
   public:
    explicit handle(type& queue) : queue_(queue.queue_) {}
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;

   private:
    friend class type;

    ::moodycamel::ProducerToken& producer() {
      if (!producer_) [[unlikely]]
        make_producer();
      return *producer_;
    }

    ::moodycamel::ConsumerToken& consumer() {
      if (!consumer_) [[unlikely]]
        make_consumer();
      return *consumer_;
    }

    [[gnu::noinline]] void make_producer() {
      if (producer_.emplace(queue_).valid()) return;
      producer_.reset();
      throw std::bad_alloc();
    }

    [[gnu::noinline]] void make_consumer() { consumer_.emplace(queue_); }

    library_queue& queue_;
    std::optional<::moodycamel::ProducerToken> producer_;
    std::optional<::moodycamel::ConsumerToken> consumer_;
  };

  explicit type(const queue_options&) {}

  push_result try_push(T item, handle& handle) {
    if (!queue_.enqueue(handle.producer(), item)) throw std::bad_alloc();
    return push_result::ok;
  }

  pop_result<T> try_pop(handle& handle) {
    pop_result<T> result;
    if (queue_.try_dequeue(handle.consumer(), result.item)) result.status = pop_status::item;
    return result;
  }

  /// For each producer the library reads its tail, then its head, both relaxed: a push that
  /// completed before the call is counted until it is claimed. A caller that must not miss an item
  /// stands after a seq_cst fence, as with every queue. O(producers).
  bool maybe_nonempty() const { return queue_.size_approx() != 0; }
  std::size_t approximate_size() const { return queue_.size_approx(); }
  std::size_t capacity() const { return 0; }

 private:
  library_queue queue_;
};

static_assert(run_queue<moodycamel::type<void*, native>, void*>);

}  // namespace heddle
