#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace heddle {

/// Makes it safe not to wake a sleeping worker at once.
///
/// To wake another worker costs both a few microseconds, more than a handful of short fibers that
/// the busy worker runs itself in that time. But it may not be left out: the next fiber may keep
/// its worker for long. So a worker that leaves a wake-up out says so here, and one thread looks
/// every `interval`, as long as any worker is awake, whether work still waits; then the wake-up is
/// sent after all.
///
///   worker                              this thread
///   ------                              -----------
///   push, fence, see a sleeper
///   [defer]  deferred_ = true           [rest]  watching_ = false
///   load watching_                      load deferred_
///
/// Both sides are seq_cst store, then seq_cst load: a deferral is seen before the thread rests, or
/// the worker sees that it rests and starts it again.
class deferred_wakes {
 public:
  /// `look()`: wakes a worker if one sleeps beside work; false when every worker sleeps.
  template <class Look>
  void start(std::chrono::microseconds interval, Look look) {
    ending_ = false;
    thread_ = std::thread([this, interval, look] { watch(interval, look); });
  }

  void end() {
    if (!thread_.joinable()) return;
    {
      std::lock_guard guard(lock_);
      ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
    watching_.store(false);
    deferred_.store(false);
  }

  /// A worker did not wake another, or has awoken itself. Threads: any.
  void defer() {
    // Relaxed: true stays true until the thread has taken it, after which it looks at the queues.
    if (!deferred_.load(std::memory_order_relaxed))
      deferred_.store(true, std::memory_order_seq_cst);
    if (watching_.load(std::memory_order_seq_cst)) return;
    {
      std::lock_guard guard(lock_);
      watching_.store(true, std::memory_order_seq_cst);
    }
    changed_.notify_one();
  }

 private:
  /// Looks without a deferral before the thread rests: to start it costs as much as a wake-up.
  static constexpr int looks_before_rest = 20;

  template <class Look>
  void watch(std::chrono::microseconds interval, Look& look) {
    std::unique_lock guard(lock_);
    int quiet = 0;
    while (!ending_) {
      if (!watching_.load(std::memory_order_seq_cst)) {
        changed_.wait(guard);
        continue;
      }
      changed_.wait_for(guard, interval, [this] { return ending_; });
      deferred_.store(false, std::memory_order_seq_cst);
      if (look()) {
        quiet = 0;
      } else if (++quiet >= looks_before_rest) {
        quiet = 0;
        watching_.store(false, std::memory_order_seq_cst);
        if (deferred_.load(std::memory_order_seq_cst))
          watching_.store(true, std::memory_order_seq_cst);
      }
    }
  }

  std::thread thread_;
  std::mutex lock_;
  std::condition_variable changed_;
  bool ending_ = false;  // guarded by lock_
  std::atomic<bool> deferred_{false};
  std::atomic<bool> watching_{false};  // set to true under lock_, so that the thread cannot miss it
};

}  // namespace heddle
