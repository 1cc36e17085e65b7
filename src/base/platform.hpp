#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <thread>

#include <heddle/base/futex.hpp>

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

  /// Atomic access to a plain object that is otherwise used by one thread at a time, such as the
  /// link in an item that was not made for one queue.
  template <class T>
  using atomic_ref = std::atomic_ref<T>;

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

  /// Sleeps if `word` is `expected` and until a notification; may return early. The look and the
  /// falling asleep are one step for those who change the word and then notify, and order nothing
  /// else: who returns loads the word again.
  static void wait(const atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    futex_wait(word, expected);
  }

  /// Wakes a thread that waits for this word, or all that do. Only the address is used: the word
  /// may be gone already, when its waiter looked once more and returned before the notification.
  static void notify_one(const atomic<std::uint32_t>* word) noexcept { futex_wake(word, 1); }
  static void notify_all(const atomic<std::uint32_t>* word) noexcept {
    futex_wake(word, std::numeric_limits<int>::max());
  }
};

/// How often a lock's waiter looks before it sleeps. Longer than the critical sections here take,
/// shorter than a sleep and a wake-up; the holder may have been preempted, and then no looking
/// helps. Under the explorer time does not pass, and one look is as good as many.
template <class Platform>
inline constexpr int looks_before_sleep = requires {
  requires Platform::explored;
}
? 1 : 64;

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
