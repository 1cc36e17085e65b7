#pragma once

#include <xenium/kirsch_kfifo_queue.hpp>
#include <xenium/reclamation/generic_epoch_based.hpp>

#include <heddle/queues/counted_adapter.hpp>

namespace heddle {

/// Adapter over xenium::kirsch_kfifo_queue: a list of segments of k slots, each of which is filled
/// and emptied in any order; reclaimed by epochs.
///
/// Source:   M. Pöter, xenium, as Debian's package libxenium-dev (0.0.2); the algorithm is C. M.
///           Kirsch, M. Lippautz, H. Payer, "Fast and scalable, lock-free k-FIFO queues", PaCT
///           2013.
/// Threads:  every operation any.   Items: any pointer but a null one.
/// Progress: lock-free, but for the allocator. A thread that stalls inside an operation keeps
///           segments from being given back.
/// Capacity: none; try_push never answers full, may allocate, and throws std::bad_alloc.
/// Order:    a pop takes one of the k oldest.
/// Empty:    strict when quiescent: a slot may be filled behind the look along its segment.
struct xenium_kfifo {
  static constexpr std::size_t k = 16;

  static constexpr queue_traits traits{
      .order = queue_order::relaxed,
      .relaxation = k,
      .empty = truth::strict_when_quiescent,
      .allocates = true,
      .native_only = true,
  };

  template <class T>
  class library {
   public:
    explicit library(const queue_options&) : queue_(k) {}
    bool push(T item) {
      queue_.push(item);
      return true;
    }
    bool pop(T& item) { return queue_.try_pop(item); }
    std::size_t capacity() const { return 0; }

   private:
    xenium::kirsch_kfifo_queue<T, xenium::policy::reclaimer<xenium::reclamation::epoch_based<>>>
        queue_;
  };

  template <class T, class Platform>
  using type = counted_adapter<T, Platform, library<T>>;
};

static_assert(run_queue<xenium_kfifo::type<queue_hook*, native>, queue_hook*>);

}  // namespace heddle
