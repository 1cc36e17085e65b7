#pragma once

#include <array>

#include "mutant.hpp"

namespace heddle::mutants {

enum class linked_inbox_bug {
  none,
  sentinel_reset_late,   ///< M19: lost
  sentinel_never_reset,  ///< M19, second form: a cycle
};

/// Intrusive list of any number of producers and one consumer, after D. Vyukov: a push exchanges
/// `back_` and then links its node to the one before. When the consumer takes the last node, it
/// puts the sentinel in its place. An item's node is the one of its number.
///
/// [linked] carries the node; [back] carries the reset of a node's link to whoever links behind it.
template <class Platform, linked_inbox_bug Bug>
class linked_inbox_queue {
  using bug = linked_inbox_bug;

 public:
  using handle = stateless_handle;

  explicit linked_inbox_queue(const queue_options&) {}

  push_result try_push(int item, handle&) {
    node& pushed = nodes_[static_cast<std::size_t>(item)];
    pushed.item.store(item);
    pushed.next.store(nullptr, std::memory_order_relaxed);              // [back] publishes it.
    node* before = back_.exchange(&pushed, std::memory_order_acq_rel);  // [back]
    before->next.store(&pushed, std::memory_order_release);             // [linked]
    return push_result::ok;
  }

  /// The consumer only.
  pop_result<int> try_pop(handle&) {
    node* next = front_->next.load(std::memory_order_acquire);  // [linked]
    if (front_ == &sentinel_) {
      if (!next) {
        // relaxed: nothing is read through it.
        const bool empty = back_.load(std::memory_order_relaxed) == &sentinel_;
        return {empty ? pop_status::empty : pop_status::contended};
      }
      front_ = next;
      next = front_->next.load(std::memory_order_acquire);  // [linked]
    }
    node* taken = front_;
    if (!next) {
      // The last node, so the sentinel is not in the list and its link is nobody else's.
      if (Bug == bug::none) sentinel_.next.store(nullptr, std::memory_order_relaxed);
      node* last = taken;
      if (!back_.compare_exchange_strong(last, &sentinel_, std::memory_order_acq_rel,  // [back]
                                         std::memory_order_relaxed)) {
        return {pop_status::contended};  // another is being linked behind it
      }
      next = &sentinel_;
      if (Bug == bug::sentinel_reset_late) {
        sentinel_.next.store(nullptr, std::memory_order_relaxed);
      }
    }
    front_ = next;
    return {pop_status::item, taken->item.load()};
  }

 private:
  struct node {
    typename Platform::template atomic<node*> next{nullptr};
    typename Platform::template cell<int> item{0};
  };

  std::array<node, 32> nodes_{};
  node sentinel_;
  typename Platform::template atomic<node*> back_{&sentinel_};
  node* front_ = &sentinel_;  ///< the consumer's
};

template <linked_inbox_bug Bug>
struct linked_inbox {
  template <class T, class Platform>
  using type = linked_inbox_queue<Platform, Bug>;
};

}  // namespace heddle::mutants
