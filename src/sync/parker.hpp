#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>

#include <heddle/base/clock.hpp>
#include <heddle/base/platform.hpp>
#include <heddle/fibers/worker.hpp>
#include <heddle/time/timer_wheel.hpp>

namespace heddle {

/// What the cores of sync/ need of one who waits; made anew for each wait, in its frame. `parker`
/// is the one of programs; the interleaving explorer brings its own.
///
///   park(publish)              waits for wake()
///   park_until(at_ns, publish) waits for wake() or the time of now_ns(); false: the time came
///   first claim()                    by who wants to wake: false when the time came first wake()
///   by whose claim() was true, once; the parker is gone afterwards passed(at_ns) whether a wait
///   until then need not begin self()                     the caller's identity, for assertions
///
/// `publish() -> bool` is that of worker::suspend: true after it has made the parker known to those
/// who wake, false to go on at once.
template <class T>
concept parks = requires(T& parker, std::uint64_t at_ns, bool (*publish)() noexcept) {
  parker.park(publish);
  { parker.park_until(at_ns, publish) } -> std::same_as<bool>;
  { parker.claim() } -> std::same_as<bool>;
  parker.wake();
  { T::passed(at_ns) } -> std::same_as<bool>;
  { T::self() } -> std::same_as<const void*>;
};

/// Who ended a timed wait: exactly one of the two who may.
template <class Platform>
class wait_end {
 public:
  /// True for the first of claim_by_waker and claim_by_time.
  bool claim_by_waker() noexcept { return claim(waker); }
  bool claim_by_time() noexcept { return claim(time); }

  /// For the one who waited, after it was woken.
  bool by_time() const noexcept { return state_.load(std::memory_order_relaxed) == time; }

 private:
  static constexpr std::uint32_t nobody = 0;
  static constexpr std::uint32_t waker = 1;
  static constexpr std::uint32_t time = 2;

  bool claim(std::uint32_t by) noexcept {
    // Relaxed: it decides, it hands nothing over. The parker reaches both claimers, and the answer
    // the one who waits, through the locks of lists and timers and through wake().
    std::uint32_t expected = nobody;
    return state_.compare_exchange_strong(expected, by, std::memory_order_relaxed);
  }

  typename Platform::template atomic<std::uint32_t> state_{nobody};
};

/// A fiber or a plain thread that waits, perhaps until a time.
///
/// The timer of a fiber is armed before the parker is published, since nothing may be touched
/// afterwards; it fires on the worker that is publishing, hence not before. Its callback runs under
/// the lock of that worker's timers, so it takes no other: it claims and wakes. The other way
/// round, wake() takes that lock; so nobody calls wake() with a lock that publish takes.
class parker : private timer {
 public:
  parker() noexcept : timer(expire) {}

  template <class Publish>
  void park(Publish publish) noexcept {
    waiting_.park([&](waiter&) noexcept { return publish(); });
  }

  template <class Publish>
  bool park_until(std::uint64_t at_ns, Publish publish) noexcept {
    worker* const home = waiting_.home();
    if (home != nullptr && home->running() != nullptr) {
      kind_ = kind::timed_fiber;
      waiting_.park([&](waiter&) noexcept {
        home->arm(*this, at_ns);
        if (publish()) return true;
        home->disarm(*this, home);
        return false;
      });
    } else {
      kind_ = kind::timed_thread;
      if (publish()) wait_as_thread(at_ns);
    }
    return !end_.by_time();
  }

  /// Threads: any, as long as the parker is published and nobody has claimed it.
  bool claim() noexcept { return kind_ == kind::untimed || end_.claim_by_waker(); }

  /// Threads: any.
  void wake() noexcept;

  static bool passed(std::uint64_t at_ns) noexcept {
    return at_ns != never_ns && (at_ns == 0 || at_ns <= now_ns());
  }

  static const void* self() noexcept;

 private:
  enum class kind : std::uint8_t { untimed, timed_fiber, timed_thread };

  static void expire(timer& expired) noexcept;
  void wait_as_thread(std::uint64_t at_ns) noexcept;

  waiter waiting_;
  kind kind_ = kind::untimed;
  wait_end<native> end_;
  /// What a timed thread sleeps on.
  std::atomic<std::uint32_t> woken_{0};
};

static_assert(parks<parker>);

}  // namespace heddle
