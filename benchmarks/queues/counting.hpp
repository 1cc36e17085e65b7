#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include <heddle/base/platform.hpp>

namespace heddle::bench {

/// What one thread met with on the platform `counting`.
struct obstacles {
  std::uint64_t failed_compare_exchanges = 0;
  std::uint64_t contended_locks = 0;  ///< the lock was held when the thread came

  /// Of the calling thread.
  static obstacles& mine() {
    thread_local obstacles counts;
    return counts;
  }
};

/// The native platform, on which each thread counts its failed compare-and-exchange operations and
/// its contended locks. It is slower, so runs on it are not timed. A queue that brings its own
/// atomics cannot be counted.
struct counting : native {
  template <class T>
  class atomic : public std::atomic<T> {
   public:
    using std::atomic<T>::atomic;
    using std::atomic<T>::operator=;

    bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) {
      return counted(std::atomic<T>::compare_exchange_weak(expected, desired, success, failure));
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                                 std::memory_order failure) {
      return counted(std::atomic<T>::compare_exchange_strong(expected, desired, success, failure));
    }

   private:
    static bool counted(bool exchanged) {
      if (!exchanged) ++obstacles::mine().failed_compare_exchanges;
      return exchanged;
    }
  };

  class mutex {
   public:
    void lock() {
      if (lock_.try_lock()) return;
      ++obstacles::mine().contended_locks;
      lock_.lock();
    }
    bool try_lock() { return lock_.try_lock(); }
    void unlock() { lock_.unlock(); }

   private:
    std::mutex lock_;
  };
};

}  // namespace heddle::bench
