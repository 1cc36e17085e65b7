#pragma once

#include <cstdint>

#include <heddle/queues/locking.hpp>
#include <heddle/queues/queue_traits.hpp>
#include <heddle/schedulers/tuning.hpp>

namespace heddle {

/// One run queue that all workers share. What a full queue refuses, and what comes from outside,
/// goes to an unbounded overflow queue. Needs of the queue: any thread may push and pop.
template <class Queue>
struct work_sharing {
  static_assert(Queue::traits.push == role::any && Queue::traits.pop == role::any,
                "work_sharing needs a queue that any worker may push to and pop from; this one's "
                "traits keep push or pop to one thread (an owner's: use it under work_stealing)");

  template <class T, class Platform>
  class type;
};

template <class Queue>
template <class T, class Platform>
class work_sharing<Queue>::type {
  using queue_type = typename Queue::template type<T, Platform>;
  using overflow_type = typename locking::type<T, Platform>;

 public:
  static constexpr bool newest_first = false;  ///< as all can pop, it is no deque

  /// What one worker keeps. Made and used on its thread.
  class local {
   public:
    local(type& scheduler, unsigned /*index*/)
        : handle_(scheduler.queue_), overflow_handle_(scheduler.overflow_) {}

   private:
    friend type;
    typename queue_type::handle handle_;
    typename overflow_type::handle overflow_handle_;
  };

  type(unsigned workers, const tuning&, queue_options options)
      : queue_(with_handles(options, workers)), overflow_({}) {}

  /// False: the queue was full and the item went to the overflow queue.
  bool push(T item, local& self) {
    if (queue_.try_push(item, self.handle_) == push_result::ok) return true;
    overflow_.try_push(item, self.overflow_handle_);
    return false;
  }

  /// As push: the queue is in order of arrival, as far as it has one.
  bool push_last(T item, local& self) { return push(item, self); }

  /// Threads: any, also those that are no workers.
  void push_from_outside(T item) {
    typename overflow_type::handle handle(overflow_);
    overflow_.try_push(item, handle);
  }

  pop_result<T> pop(local& self) { return queue_.try_pop(self.handle_); }
  pop_result<T> pop_overflow(local& self) { return overflow_.try_pop(self.overflow_handle_); }

  /// There is nowhere else to look.
  template <class Counters>
  pop_result<T> search(local&, Counters&) {
    return {};
  }
  bool others_maybe_nonempty(const local&) const { return false; }

  bool own_maybe_nonempty(const local&) const { return queue_.maybe_nonempty(); }
  /// False proves that no push that completed before is left in any queue.
  bool maybe_nonempty() const { return queue_.maybe_nonempty() || overflow_.maybe_nonempty(); }
  bool maybe_nonempty(const local&) const { return maybe_nonempty(); }

  /// Nothing is hidden from anybody.
  void publish(local&) {}
  bool publish_on_request(local&) { return false; }

 private:
  static queue_options with_handles(queue_options options, unsigned workers) {
    options.handles = workers;
    return options;
  }

  queue_type queue_;
  overflow_type overflow_;
};

}  // namespace heddle
