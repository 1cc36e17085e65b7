#pragma once

#include <mutex>

#include <heddle/base/cache_line.hpp>
#include <heddle/queues/queue_traits.hpp>

namespace heddle {

/// Intrusive FIFO list under one lock.
/// Source:   textbook.              Threads:  every operation any.
/// Progress: blocking.              Capacity: none; try_push never answers full, never allocates.
/// Empty:    strict.
struct locking {
  static constexpr queue_traits traits{
      .push_progress = progress::blocking,
      .pop_progress = progress::blocking,
      .element = element_kind::intrusive_link,
  };

  template <class T, class Platform>
  class type;
};

template <class T, class Platform>
class locking::type {
 public:
  using handle = stateless_handle;

  explicit type(const queue_options&) {}

  push_result try_push(T item, handle&) {
    item->next_queued = nullptr;
    std::lock_guard guard(lock_);
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
    std::lock_guard guard(lock_);
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
  typename Platform::mutex lock_;
  queue_hook* head_ = nullptr;  // guarded by lock_
  queue_hook* tail_ = nullptr;  // guarded by lock_
  typename Platform::template atomic<std::size_t> size_{0};
};

static_assert(run_queue<locking::type<queue_hook*, native>, queue_hook*>);

}  // namespace heddle
