#pragma once

#include <xenium/ramalhete_queue.hpp>
#include <xenium/reclamation/generic_epoch_based.hpp>

#include <heddle/queues/counted_adapter.hpp>

namespace heddle {

/// Adapter over xenium::ramalhete_queue: fetch-and-add on segments of an array, reclaimed by
/// epochs.
///
/// Source:   M. Pöter, xenium, as Debian's package libxenium-dev (0.0.2); the algorithm is P.
///           Ramalhete and A. Correia's FAAArrayQueue, 2016.
/// Threads:  every operation any.   Items: any pointer but a null one.
/// Progress: lock-free, but for the allocator. A thread that stalls inside an operation keeps
///           segments from being given back.
/// Capacity: none; try_push never answers full, may allocate, and throws std::bad_alloc.
struct xenium_ramalhete {
  static constexpr queue_traits traits{
      .allocates = true,
      .native_only = true,
  };

  template <class T>
  class library {
   public:
    explicit library(const queue_options&) {}
    bool push(T item) {
      queue_.push(item);
      return true;
    }
    bool pop(T& item) { return queue_.try_pop(item); }
    std::size_t capacity() const { return 0; }

   private:
    xenium::ramalhete_queue<T, xenium::policy::reclaimer<xenium::reclamation::epoch_based<>>>
        queue_;
  };

  template <class T, class Platform>
  using type = counted_adapter<T, Platform, library<T>>;
};

static_assert(run_queue<xenium_ramalhete::type<queue_hook*, native>, queue_hook*>);

}  // namespace heddle
