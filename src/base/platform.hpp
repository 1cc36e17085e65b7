#pragma once

#include <atomic>
#include <mutex>
#include <thread>

namespace heddle {

/// The platform that programs run on: each name maps to the standard library at no cost.
///
/// Queues, the idle protocol, waiters and the cores of the synchronisation primitives reach shared
/// memory only through a `Platform` parameter with these members, so that one text of an algorithm
/// runs here and under the interleaving explorer of tests/explore.
struct native {
  /// An atomic object; orders are named at each use.
  template <class T>
  using atomic = std::atomic<T>;

  /// A plain object that several threads use, ordered by something else. Under the explorer each
  /// access is checked for a data race.
  template <class T>
  class cell {
   public:
    cell() = default;
    explicit cell(T value) : value_(value) {}
    cell(const cell&) = delete;
    cell& operator=(const cell&) = delete;

    T load() const { return value_; }
    void store(T value) { value_ = value; }

   private:
    T value_{};
  };

  /// A lock for short critical sections; never held across a suspension.
  using mutex = std::mutex;

  /// Under ThreadSanitizer, which does not model fences, a seq_cst fence is a read-modify-write on
  /// one global word: stronger than the fence (all such words are the same location), and seen.
  static void fence(std::memory_order order) noexcept {
#if defined(HEDDLE_TSAN)
    static constinit std::atomic<unsigned> word{0};
    word.fetch_add(0, order == std::memory_order_seq_cst ? order : std::memory_order_acq_rel);
#else
    std::atomic_thread_fence(order);
#endif
  }

  /// A seq_cst fence that directly follows an atomic read-modify-write: on x86 that is one already.
  static void fence_after_update() noexcept {
#if (defined(__x86_64__) || defined(__i386__)) && !defined(HEDDLE_TSAN)
    std::atomic_signal_fence(std::memory_order_seq_cst);
#else
    fence(std::memory_order_seq_cst);
#endif
  }

  /// Tells the processor that this thread is in a short busy wait.
  static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
  }

  /// Gives the processor away when a busy wait has lasted too long: the one waited for may have
  /// been preempted.
  static void yield_thread() noexcept { std::this_thread::yield(); }
};

/// A busy wait that turns into giving the processor away after `spins` looks.
template <class Platform>
class backoff {
 public:
  explicit backoff(int spins = 64) : left_(spins) {}

  void operator()() noexcept {
    if (left_ > 0) {
      --left_;
      Platform::pause();
    } else {
      Platform::yield_thread();
    }
  }

 private:
  int left_;
};

}  // namespace heddle
