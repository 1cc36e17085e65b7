#pragma once

#include <mutex>

#include <heddle/queues/queue_traits.hpp>

namespace heddle {

/// What an intrusive list under one lock promises, whichever lock it is.
inline constexpr queue_traits locked_list_traits{
    .push_progress = progress::blocking,
    .pop_progress = progress::blocking,
    .element = element_kind::intrusive_link,
};

/// Holds a lock for a scope. A lock that needs something of each waiter brings its own guard.
template <class Lock>
struct guard_of {
  using type = std::lock_guard<Lock>;
};
template <class Lock>
requires requires { typename Lock::guard; }
struct guard_of<Lock> {
  using type = typename Lock::guard;
};

/// Intrusive FIFO list under one lock: the one text behind the rows `locking`, `locking-spin`,
/// `locking-ticket` and `locking-mcs`, which differ in the lock.
/// Source:   textbook.              Threads:  every operation any.
/// Progress: blocking.              Capacity: none; try_push never answers full, never allocates.
/// Empty:    strict.
template <class T, class Platform, class Lock>
class locked_list {
 public:
  using handle = stateless_handle;

  explicit locked_list(const queue_options&) {}

  push_result try_push(T item, handle&) {
    item->next_queued = nullptr;
    guard guard(lock_);
    (tail_ ? tail_->next_queued : head_) = item;
    tail_ = item;
    // [size] Only the lock's holder writes, so a plain increment in two steps is enough.
    size_.store(size_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return push_result::ok;
  }

  pop_result<T> try_pop(handle&) {
    // An idle worker looks often; it must not take the lock for it. A zero that is read here was
    // true at the moment of the read, so "empty" stays strict.
    if (!maybe_nonempty()) return {};
    guard guard(lock_);
    if (!head_) return {};
    T item = static_cast<T>(head_);
    head_ = head_->next_queued;
    if (!head_) tail_ = nullptr;
    size_.store(size_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    return {pop_status::item, item};
  }

  /// Relaxed: a caller that must not miss an item (the idle protocol) stands after a seq_cst fence
  /// whose partner stands between the push and its look for sleepers.
  bool maybe_nonempty() const { return approximate_size() != 0; }
  std::size_t approximate_size() const { return size_.load(std::memory_order_relaxed); }
  std::size_t capacity() const { return 0; }

 private:
  using guard = typename guard_of<Lock>::type;

  Lock lock_;
  queue_hook* head_ = nullptr;  // guarded by lock_
  queue_hook* tail_ = nullptr;  // guarded by lock_
  typename Platform::template atomic<std::size_t> size_{0};
};

}  // namespace heddle
