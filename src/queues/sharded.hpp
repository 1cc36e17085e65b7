#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include <heddle/base/cache_line.hpp>
#include <heddle/queues/locked_list.hpp>

namespace heddle {

/// A list under a lock for each handle: a handle pushes to its own and pops from its own first,
/// then from the others. The cheap control that shows whether one common order matters.
///
/// Source:   textbook.              Threads:  every operation any.
/// Progress: blocking.              Capacity: none; try_push never answers full, never allocates.
/// Shards:   as many as handles are expected, from 2 to 64; more handles share them.
/// Order:    FIFO per handle that pushes, and no more: an item may wait while any number of later
///           ones leave other shards. Every 32nd pop begins elsewhere, at each shard in turn, so
///           that the items of a handle that has stopped popping are not left for ever.
/// Empty:    strict when quiescent: a shard may be filled behind the one that looks through them.
struct sharded {
  static constexpr queue_traits traits = [] {
    queue_traits traits = locked_list_traits;
    traits.order = queue_order::fifo_per_producer;
    traits.empty = truth::strict_when_quiescent;
    return traits;
  }();

  template <class T, class Platform>
  class type;
};

template <class T, class Platform>
class sharded::type {
  using list = locked_list<T, Platform, typename Platform::mutex>;

 public:
  class handle {
   public:
    explicit handle(type& queue) : own_(queue.next_own()), turn_(own_) {}

   private:
    friend type;

    const std::size_t own_;
    std::size_t turn_;  ///< the shard where the next pop that begins elsewhere begins
    unsigned pops_ = 0;
  };

  explicit type(const queue_options& options)
      : count_(std::clamp<std::size_t>(options.handles, fewest_shards, most_shards)),
        shards_(std::make_unique<shard[]>(count_)) {}

  push_result try_push(T item, handle& handle) {
    stateless_handle none(*this);
    return shards_[handle.own_].items.try_push(item, none);
  }

  pop_result<T> try_pop(handle& handle) {
    std::size_t at = handle.own_;
    if (++handle.pops_ % pops_between_turns == 0) at = handle.turn_ = next(handle.turn_);
    stateless_handle none(*this);
    for (std::size_t left = count_; left > 0; --left, at = next(at)) {
      if (const auto popped = shards_[at].items.try_pop(none)) return popped;
    }
    return {};
  }

  /// A caller that must not miss an item stands after a seq_cst fence, as with every queue: a push
  /// that completed before is seen in its shard, whichever is looked at first. O(shards).
  bool maybe_nonempty() const {
    for (std::size_t at = 0; at < count_; ++at) {
      if (shards_[at].items.maybe_nonempty()) return true;
    }
    return false;
  }

  std::size_t approximate_size() const {
    std::size_t size = 0;
    for (std::size_t at = 0; at < count_; ++at) size += shards_[at].items.approximate_size();
    return size;
  }

  std::size_t capacity() const { return 0; }

 private:
  static constexpr std::size_t fewest_shards = 2;
  static constexpr std::size_t most_shards = 64;
  static constexpr unsigned pops_between_turns = 32;

  struct alignas(cache_line_bytes) shard {
    list items{queue_options{}};
  };

  std::size_t next(std::size_t at) const { return at + 1 == count_ ? 0 : at + 1; }

  std::size_t next_own() {
    // relaxed: it only spreads the handles.
    return handles_made_.fetch_add(1, std::memory_order_relaxed) % count_;
  }

  // Written by the constructor only.
  const std::size_t count_;
  const std::unique_ptr<shard[]> shards_;
  // Written by who makes a handle.
  typename Platform::template atomic<std::size_t> handles_made_{0};
};

static_assert(run_queue<sharded::type<queue_hook*, native>, queue_hook*>);

}  // namespace heddle
