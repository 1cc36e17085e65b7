#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <heddle/base/cache_line.hpp>
#include <heddle/queues/locking.hpp>
#include <heddle/queues/queue_traits.hpp>
#include <heddle/schedulers/tuning.hpp>

namespace heddle {

/// A run queue for each worker; a worker without work takes up to half of another's. What a full
/// queue refuses, and what comes from outside, goes to an unbounded overflow queue that all share.
/// Needs of the queue: its owner may push and pop, any thread may steal, or pop, which then is
/// stealing.
///
/// A queue from which its owner pops the newest goes with the overflow queue, a FIFO, for those
/// that are to wait their turn; and now and then the owner takes its oldest item, or that would
/// wait as long as newer ones come.
///
/// A queue whose owner keeps items to itself is asked for them: a worker that finds some in vain
/// leaves a request, which the owner sees between two fibers at the latest. Then it publishes them,
/// and wakes a worker. While it runs a fiber it cannot see that: a fiber that never ends, nor
/// yields, nor makes another ready, keeps what its worker had taken over before it began.
template <class Queue>
struct work_stealing {
  static_assert(Queue::traits.push == role::any || Queue::traits.push == role::owner,
                "work_stealing needs a queue that its owner may push to; this one's traits let "
                "nobody push, or one thread for all");
  static_assert(Queue::traits.pop == role::any ||
                    (Queue::traits.pop == role::owner && Queue::traits.steal == role::any),
                "work_stealing needs a queue that any worker may steal or pop from; this one's "
                "traits leave its items to one thread");

  template <class T, class Platform>
  class type;
};

template <class Queue>
template <class T, class Platform>
class work_stealing<Queue>::type {
  using queue_type = typename Queue::template type<T, Platform>;
  using overflow_type = typename locking::type<T, Platform>;

  static_assert(Queue::traits.pop == role::any || stealable<queue_type, T>,
                "work_stealing steals with try_steal from a queue that only its owner pops; this "
                "one has no try_steal");
  static_assert(
      Queue::traits.every_item_stealable || publishing<queue_type>,
      "work_stealing asks a queue that hides items from thieves to publish them; this one "
      "has no publish_hidden or no maybe_stealable");

 public:
  /// The owner pops the newest; see pop_oldest.
  static constexpr bool newest_first = Queue::traits.order == queue_order::lifo_owner_fifo_thief;

  /// What one worker keeps. Made and used on its thread.
  class local {
   public:
    local(type& scheduler, unsigned index)
        : index_(index), random_(index * 0x9e3779b9u + 1), overflow_handle_(scheduler.overflow_) {
      for (auto& shard : scheduler.shards_) handles_.emplace_back(shard->queue);
    }

   private:
    friend type;

    /// xorshift: the choice of a victim needs no better.
    std::uint32_t random() {
      random_ ^= random_ << 13;
      random_ ^= random_ >> 17;
      random_ ^= random_ << 5;
      return random_;
    }

    const unsigned index_;
    std::uint32_t random_;
    std::deque<typename queue_type::handle> handles_;  // one for each worker's queue
    typename overflow_type::handle overflow_handle_;
  };

  type(unsigned workers, const tuning& tuning, queue_options options)
      : tuning_(tuning), overflow_({}) {
    options.handles = workers;
    for (unsigned i = 0; i < workers; ++i) shards_.push_back(std::make_unique<shard>(options));
  }

  /// False: the queue was full and the item went to the overflow queue.
  bool push(T item, local& self) {
    if (own(self).try_push(item, own_handle(self)) == push_result::ok) return true;
    overflow_.try_push(item, self.overflow_handle_);
    return false;
  }

  /// As push, for an item that waits until all that are there now have had their turn.
  bool push_last(T item, local& self) {
    if constexpr (!newest_first) return push(item, self);
    overflow_.try_push(item, self.overflow_handle_);
    return true;
  }

  /// Threads: any, also those that are no workers.
  void push_from_outside(T item) {
    typename overflow_type::handle handle(overflow_);
    overflow_.try_push(item, handle);
  }

  pop_result<T> pop(local& self) { return own(self).try_pop(own_handle(self)); }
  /// What a queue from which pop takes the newest has kept longest.
  pop_result<T> pop_oldest(local& self) { return steal_from(own(self), own_handle(self)); }
  pop_result<T> pop_overflow(local& self) { return overflow_.try_pop(self.overflow_handle_); }

  /// Looks at the other workers' queues, `steal_rounds` times at most. `contended` when a look lost
  /// a race, so that an item may still be there.
  template <class Counters>
  pop_result<T> search(local& self, Counters& counters) {
    const unsigned workers = static_cast<unsigned>(shards_.size());
    pop_result<T> outcome;
    for (unsigned round = 0; round < tuning_.steal_rounds; ++round) {
      outcome = {};
      const unsigned first =
          tuning_.random_victims != 0 ? self.random() % workers : self.index_ + 1;
      for (unsigned i = 0; i < workers; ++i) {
        const unsigned victim = (first + i) % workers;
        if (victim == self.index_ || !may_steal(*shards_[victim])) continue;
        counters.steal_attempts.add();
        pop_result<T> stolen = steal(self, victim, counters);
        if (stolen) {
          counters.steals.add();
          return stolen;
        }
        counters.failed_steals.add();
        if (stolen.status == pop_status::contended) outcome.status = pop_status::contended;
      }
      if (outcome.status == pop_status::empty) break;
    }
    return outcome;
  }

  /// False proves that there was nothing to steal: no push that completed before is left that its
  /// owner does not keep; such an owner has got a request.
  bool others_maybe_nonempty(const local& self) const {
    for (unsigned i = 0; i < shards_.size(); ++i)
      if (i != self.index_ && may_steal(*shards_[i])) return true;
    return false;
  }

  /// Of what this worker has pushed, something waits.
  bool own_maybe_nonempty(const local& self) const {
    return shards_[self.index_]->queue.maybe_nonempty() ||
           (newest_first && overflow_.maybe_nonempty());
  }

  /// False proves that no push that completed before is left where this worker could take it.
  bool maybe_nonempty(const local& self) const {
    return overflow_.maybe_nonempty() || own_maybe_nonempty(self) || others_maybe_nonempty(self);
  }

  /// False proves that no push that completed before is left in any queue.
  bool maybe_nonempty() const {
    if (overflow_.maybe_nonempty()) return true;
    for (const auto& shard : shards_)
      if (shard->queue.maybe_nonempty()) return true;
    return false;
  }

  /// Lets others take what the own queue hides, since one of them sleeps.
  void publish(local& self) {
    if constexpr (publishing<queue_type>) own(self).publish_hidden(own_handle(self));
  }

  /// Does so if another worker has asked for it. True: there is something to take, so wake one.
  bool publish_on_request(local& self) {
    if constexpr (publishing<queue_type>) {
      // [request] relaxed: the owner looks again before each fiber; no item is read through it.
      auto& request = shards_[self.index_]->request;
      if (!request.load(std::memory_order_relaxed)) return false;
      // Before it publishes: whoever asks later has seen what was hidden after this, or is seen
      // asleep when the caller wakes one.
      request.store(false, std::memory_order_relaxed);
      return own(self).publish_hidden(own_handle(self));
    }
    return false;
  }

 private:
  struct alignas(cache_line_bytes) shard {
    explicit shard(const queue_options& options) : queue(options) {}
    queue_type queue;
    /// [request] Of thieves to the owner of a queue that hides items from them.
    typename Platform::template atomic<bool> request{false};
  };

  /// Whether a thief may find something; if that is so for the owner alone, asks it to share.
  static bool may_steal(shard& shard) {
    if constexpr (publishing<queue_type>) {
      if (shard.queue.maybe_stealable()) return true;
      // [request] relaxed, both: see publish_on_request.
      if (shard.queue.maybe_nonempty() && !shard.request.load(std::memory_order_relaxed)) {
        shard.request.store(true, std::memory_order_relaxed);
      }
      return false;
    } else {
      return shard.queue.maybe_nonempty();
    }
  }

  queue_type& own(local& self) { return shards_[self.index_]->queue; }
  auto& own_handle(local& self) { return self.handles_[self.index_]; }

  /// One item to run, and up to half of the rest into the own queue, which is empty.
  template <class Counters>
  pop_result<T> steal(local& self, unsigned victim, Counters& counters) {
    queue_type& from = shards_[victim]->queue;
    auto& handle = self.handles_[victim];
    if constexpr (half_stealing<queue_type, T>) {
      const std::size_t before = own(self).approximate_size();
      pop_result<T> first = from.steal_half_into(own(self), tuning_.steal_most_fibers, handle);
      if (first) counters.stolen_fibers.add(1 + own(self).approximate_size() - before);
      return first;
    } else {
      const std::size_t half =
          std::min<std::size_t>((from.approximate_size() + 1) / 2, tuning_.steal_most_fibers);
      pop_result<T> first = steal_from(from, handle);
      if (!first) return first;
      std::size_t taken = 1;
      for (; taken < half; ++taken) {
        pop_result<T> more = steal_from(from, handle);
        if (!more) break;
        push(more.item, self);
      }
      counters.stolen_fibers.add(taken);
      return first;
    }
  }

  const tuning tuning_;
  std::vector<std::unique_ptr<shard>> shards_;
  overflow_type overflow_;
};

}  // namespace heddle
