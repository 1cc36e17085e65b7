#pragma once

#include <atomic>

#include <heddle/base/platform.hpp>

namespace heddle {

/// A lock for a few instructions that are hardly ever contended: one atomic update to lock, a store
/// to unlock. A waiter soon gives its processor away, since the holder may have been preempted.
/// Threads: any; never held across a suspension.   Progress: blocking, unfair.
template <class Platform>
class basic_spin_lock {
 public:
  void lock() noexcept {
    backoff<Platform> wait;
    // [locked] acquire exchange -> release in unlock: the holder before has finished its work.
    while (locked_.exchange(true, std::memory_order_acquire)) {
      // Relaxed: only tells when the exchange is worth another try.
      while (locked_.load(std::memory_order_relaxed)) wait();
    }
  }

  bool try_lock() noexcept { return !locked_.exchange(true, std::memory_order_acquire); }

  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

 private:
  typename Platform::template atomic<bool> locked_{false};
};

using spin_lock = basic_spin_lock<native>;

}  // namespace heddle
