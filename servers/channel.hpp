#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include <heddle/sync/condition_variable.hpp>
#include <heddle/sync/mutex.hpp>

namespace heddle::servers {

/// Items from any fibers to any fibers, in order, without a bound.
///
/// A stop of the runtime ends no receive; close() does.
template <class T>
class channel {
 public:
  /// False when the channel is closed.
  bool send(T item) {
    {
      std::lock_guard guard(mutex_);
      if (closed_) return false;
      items_.push_back(std::move(item));
    }
    changed_.notify_one();
    return true;
  }

  /// Waits for an item; nullopt when the channel is closed and every item was received.
  std::optional<T> receive() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !items_.empty() || closed_; });
    if (items_.empty()) return std::nullopt;
    std::optional<T> first(std::move(items_.front()));
    items_.pop_front();
    return first;
  }

  void close() {
    {
      std::lock_guard guard(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

 private:
  mutex mutex_;
  condition_variable changed_;
  std::deque<T> items_;  // guarded by mutex_
  bool closed_ = false;  // guarded by mutex_
};

}  // namespace heddle::servers
