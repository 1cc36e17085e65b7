#pragma once

#include <array>
#include <cstdint>

#include "mutant.hpp"

namespace heddle::mutants {

enum class michael_scott_bug {
  none,
  head_not_looked_at_again,  ///< M1
  count_starts_again,        ///< M2
  head_not_released,         ///< M20
};

/// The list of simple_mpmc with all that is not the algorithm left out: eight nodes, each handle
/// keeps the nodes it has freed, last freed first used. For the synchronisation see there.
template <class Platform, michael_scott_bug Bug>
class michael_scott_queue {
  using index = std::uint32_t;
  using link = std::uint64_t;  ///< index in the lower half, modification count in the upper
  using bug = michael_scott_bug;

  /// No node; following it reads the item 0, which nobody pushed.
  static constexpr index none = 7;

 public:
  class handle {
   public:
    explicit handle(michael_scott_queue& queue) : queue_(queue) {}

    index take() {
      // relaxed: it only hands out nodes that nobody has used.
      if (size_ == 0) return queue_.unused_.fetch_add(1, std::memory_order_relaxed);
      return free_[--size_];
    }
    void give(index freed) { free_[size_++] = freed; }

   private:
    michael_scott_queue& queue_;
    std::array<index, 8> free_{};
    std::size_t size_ = 0;
  };

  explicit michael_scott_queue(const queue_options&) {}

  push_result try_push(int item, handle& handle) {
    const index pushed = handle.take();
    node& node = nodes_[pushed];
    node.item.store(item, std::memory_order_relaxed);  // [linked] publishes it.
    const link old = node.next.load(std::memory_order_relaxed);
    const std::uint32_t count = Bug == bug::count_starts_again ? 0 : count_of(old);
    node.next.store(make_link(none, count), std::memory_order_release);  // [moved]
    for (;;) {
      const link tail = tail_.load(std::memory_order_acquire);  // [linked]
      auto& last = nodes_[index_of(tail)].next;
      link next = last.load(std::memory_order_acquire);  // [linked] and [moved]
      if (tail != tail_.load(std::memory_order_relaxed)) continue;
      if (index_of(next) != none) {
        advance(tail_, tail, next, std::memory_order_release);
        continue;
      }
      const link linked = make_link(pushed, count_of(next) + 1);
      if (last.compare_exchange_strong(next, linked, std::memory_order_release,
                                       std::memory_order_relaxed)) {
        advance(tail_, tail, linked, std::memory_order_release);
        return push_result::ok;
      }
    }
  }

  pop_result<int> try_pop(handle& handle) {
    constexpr std::memory_order claim_order =
        Bug == bug::head_not_released ? std::memory_order_acquire : std::memory_order_release;
    for (;;) {
      const link head = head_.load(std::memory_order_acquire);  // [linked]
      const link tail = tail_.load(std::memory_order_acquire);  // [linked]
      const link next = nodes_[index_of(head)].next.load(std::memory_order_acquire);
      if (Bug != bug::head_not_looked_at_again && head != head_.load(std::memory_order_relaxed)) {
        continue;
      }
      if (index_of(head) == index_of(tail)) {
        if (index_of(next) == none) return {};
        advance(tail_, tail, next, std::memory_order_release);
        continue;
      }
      const int item = nodes_[index_of(next)].item.load(std::memory_order_relaxed);
      if (advance(head_, head, next, claim_order)) {
        handle.give(index_of(head));
        return {pop_status::item, item};
      }
    }
  }

 private:
  template <class Value>
  using atomic = typename Platform::template atomic<Value>;

  struct node {
    atomic<link> next{make_link(none, 0)};
    atomic<int> item{0};
  };

  static constexpr link make_link(index to, std::uint32_t count) { return link{count} << 32 | to; }
  static constexpr index index_of(link link) { return static_cast<index>(link); }
  static constexpr std::uint32_t count_of(link link) {
    return static_cast<std::uint32_t>(link >> 32);
  }

  static bool advance(atomic<link>& end, link from, link next, std::memory_order order) {
    return end.compare_exchange_strong(from, make_link(index_of(next), count_of(from) + 1), order,
                                       std::memory_order_relaxed);
  }

  std::array<node, 8> nodes_{};
  atomic<index> unused_{1};  ///< node 0 is the dummy
  atomic<link> tail_{make_link(0, 0)};
  atomic<link> head_{make_link(0, 0)};
};

template <michael_scott_bug Bug>
struct michael_scott {
  template <class T, class Platform>
  using type = michael_scott_queue<Platform, Bug>;
};

}  // namespace heddle::mutants
