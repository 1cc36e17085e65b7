#pragma once

#include <new>

#include <heddle/queues/counted_adapter.hpp>

// The library's free list writes plainly where a slower thread may still read a node, and throws
// away what it read when a tag has changed. ThreadSanitizer reports that as a race: the library's
// plain accesses are left out of the check; its atomics stay in, so that what they order in the
// programs that use the queue is still checked.
#if defined(__clang__) && defined(HEDDLE_TSAN)
#pragma clang attribute push(__attribute__((no_sanitize("thread"))), apply_to = function)
#endif
#include <boost/lockfree/queue.hpp>
#if defined(__clang__) && defined(HEDDLE_TSAN)
#pragma clang attribute pop
#endif

namespace heddle {

/// Adapter over boost::lockfree::queue: Michael and Scott's list with tagged pointers and a free
/// list of its own.
///
/// Source:   T. Blechmann, Boost.Lockfree, as Debian's package libboost1.81-dev.
/// Threads:  every operation any.
/// Progress: lock-free, but for the allocator.
/// Capacity: none; try_push never answers full, may allocate, and throws std::bad_alloc. Nodes are
///           given back when the queue dies.
/// Errata:   a reused node must keep the tag of its link, or items get lost or overtake each other
///           (lockfree#59). Since 1.74 its constructor reads the tag of the node's former life,
///           which C++ calls indeterminate: right as long as compilers leave the memory alone, as
///           gcc 12 and clang 14 do. A tag has 16 bits: a thread that sleeps inside an operation
///           while 65,536 others reuse its node takes the old link for the new one.
struct boost_lockfree {
  static constexpr queue_traits traits{
      .allocates = true,
      .native_only = true,
  };

  template <class T>
  class library {
   public:
    explicit library(const queue_options&) : queue_(0) {}
    bool push(T item) {
      if (!queue_.push(item)) throw std::bad_alloc();
      return true;
    }
    bool pop(T& item) { return queue_.pop(item); }
    std::size_t capacity() const { return 0; }

   private:
    boost::lockfree::queue<T> queue_;
  };

  template <class T, class Platform>
  using type = counted_adapter<T, Platform, library<T>>;
};

static_assert(run_queue<boost_lockfree::type<void*, native>, void*>);

}  // namespace heddle
