#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include <heddle/base/assert.hpp>
#include <heddle/base/clock.hpp>
#include <heddle/base/platform.hpp>
#include <heddle/sync/parker.hpp>
#include <heddle/sync/wait_list.hpp>

namespace heddle {

template <class Platform, class Parker>
class basic_condition_variable;

/// Excludes fibers of any worker and plain threads from each other; a waiting fiber is suspended, a
/// waiting thread sleeps. Lockable and, for steady_clock, TimedLockable. Not recursive: a second
/// lock by the owner waits for ever, and fails an assertion in builds without NDEBUG. It may be
/// held across a suspension, and be unlocked on another thread than it was locked on.
///
/// Threads:  any.
/// Progress: blocking; lock and unlock that meet nobody are two atomic operations. unlock touches
///           the mutex no more once another can have locked and unlocked it.
/// Fairness: a waiter that is woken may find that others who came meanwhile have taken the mutex,
///           but only `most_losses` times; then unlock hands it over. Waiters are served in order.
///
/// The word says everything that decides without the list:
///
///   locked    held
///   waiters   the list is not empty; changes under lock_ only
///   woken     one who was woken has not yet run to take the mutex; unlock wakes no other
///
/// so that each decision to sleep or to wake is one operation on it, and no store–load race is
/// left. A word with `waiters` and without `woken` sends unlock to the list.
template <class Platform, class Parker = parker>
class basic_mutex {
 public:
  /// Times that the first waiter is woken in vain. With 0 every section of a contended mutex waits
  /// for a switch to the next fiber: 8 fibers on 2 workers, short sections: 0.4 switches a section
  /// and 120 to 200 ns, against 0.0001 switches and 45 to 55 ns with 1. More than 1 gains nothing.
  static constexpr std::uint32_t most_losses = 1;

  basic_mutex() = default;
  basic_mutex(const basic_mutex&) = delete;
  basic_mutex& operator=(const basic_mutex&) = delete;

  void lock() {
    // [mutex] acquire → release in unlock.
    std::uint32_t seen = 0;
    if (!word_.compare_exchange_strong(seen, locked, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
      lock_slowly(never_ns);
    }
    HEDDLE_ASSERT(owned_by(Parker::self()));
  }

  bool try_lock() noexcept {
    if (!take(0, 0, 0)) return false;
    HEDDLE_ASSERT(owned_by(Parker::self()));
    return true;
  }

  /// False when the deadline came first; one that has passed does not suspend. A stop of the
  /// runtime does not end the wait.
  bool try_lock_until(deadline limit) {
    if (!take(0, 0, 0) && !lock_slowly(limit.at_ns())) return false;
    HEDDLE_ASSERT(owned_by(Parker::self()));
    return true;
  }

  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> duration) {
    return try_lock_until(deadline(duration));
  }

  /// Threads: any.
  void unlock() noexcept {
    HEDDLE_ASSERT(owned_by(nullptr));
    // [mutex] release → acquire in lock and take.
    std::uint32_t seen = locked;
    if (!word_.compare_exchange_strong(seen, 0, std::memory_order_release,
                                       std::memory_order_relaxed)) {
      unlock_slowly(seen);
    }
  }

 private:
  friend class basic_condition_variable<Platform, Parker>;

  static constexpr std::uint32_t locked = 1;
  static constexpr std::uint32_t waiters = 2;
  static constexpr std::uint32_t woken = 4;

  using list = wait_list<Platform, Parker>;
  struct place : list::place {
    std::uint32_t losses = 0;
    /// Set by the one who unlocks, before the wake-up: the mutex is this waiter's.
    typename Platform::template cell<bool> handed_over;
  };

  /// True: took the mutex, since it was free, and cleared `cleared` in the word. False: it is
  /// locked; cleared and set the last two.
  bool take(std::uint32_t cleared, std::uint32_t cleared_if_locked,
            std::uint32_t set_if_locked) noexcept;

  /// False: the time came first.
  bool lock_slowly(std::uint64_t at_ns);
  void unlock_slowly(std::uint32_t seen) noexcept;

  /// Notes who may not lock now. In checked builds only, so that it costs nothing in others.
  bool owned_by(const void* owner) noexcept {
    // Relaxed: compared with the reader's own identity, which only the reader itself stores.
    owner_.store(owner, std::memory_order_relaxed);
    return true;
  }

  typename Platform::template atomic<std::uint32_t> word_{0};
  typename Platform::template atomic<const void*> owner_{nullptr};
  typename Platform::mutex lock_;
  list waiting_;  // guarded by lock_
};

template <class Platform, class Parker>
bool basic_mutex<Platform, Parker>::take(std::uint32_t cleared, std::uint32_t cleared_if_locked,
                                         std::uint32_t set_if_locked) noexcept {
  std::uint32_t seen = word_.load(std::memory_order_relaxed);
  for (;;) {
    const bool free = (seen & locked) == 0;
    const std::uint32_t wanted =
        free ? (seen & ~cleared) | locked : (seen & ~cleared_if_locked) | set_if_locked;
    if (wanted == seen) return false;
    // [mutex] acquire → release in unlock. Every change in between is a read-modify-write, so that
    // it carries the release on.
    if (word_.compare_exchange_weak(seen, wanted, std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      return free;
    }
  }
}

template <class Platform, class Parker>
bool basic_mutex<Platform, Parker>::lock_slowly(std::uint64_t at_ns) {
  // Nobody else stores the caller's identity, so it is read exactly.
  HEDDLE_ASSERT(owner_.load(std::memory_order_relaxed) != Parker::self());
  std::uint32_t mine = 0;  // `woken` once it is set for this waiter
  for (std::uint32_t losses = 0;; ++losses) {
    if (take(mine, 0, 0)) return true;
    if (Parker::passed(at_ns)) return take(mine, mine, 0);

    place self;
    self.losses = losses;
    bool took = false;
    const auto publish = [&]() noexcept {
      std::lock_guard guard(lock_);
      // From here on unlock may wake another: one operation shows that somebody waits and that
      // nobody is on the way.
      took = take(mine, mine, waiters);
      if (took) return false;
      losses == 0 ? waiting_.push_back(self) : waiting_.push_front(self);
      return true;
    };
    if (at_ns == never_ns) {
      self.park(publish);
    } else if (!self.park_until(at_ns, publish)) {
      std::lock_guard guard(lock_);
      waiting_.remove(self);
      // Relaxed: the list is guarded by lock_; the bit only sends unlock there.
      if (waiting_.empty()) word_.fetch_and(~waiters, std::memory_order_relaxed);
      return false;
    }
    if (took || self.handed_over.load()) return true;
    mine = woken;
  }
}

template <class Platform, class Parker>
void basic_mutex<Platform, Parker>::unlock_slowly(std::uint32_t seen) noexcept {
  for (;;) {
    HEDDLE_ASSERT((seen & locked) != 0);
    if ((seen & waiters) == 0 || (seen & woken) != 0) {
      // [mutex] release → acquire in take.
      if (word_.compare_exchange_weak(seen, seen & ~locked, std::memory_order_release,
                                      std::memory_order_relaxed)) {
        return;
      }
      continue;
    }
    place* next;
    {
      std::lock_guard guard(lock_);
      // Relaxed: held under lock_, by the one who holds the mutex, only the load decides.
      seen = word_.load(std::memory_order_relaxed);
      if ((seen & waiters) == 0) continue;  // the last has given up
      // The list is not empty, so at least one waiter has not left lock(): nobody who may destroy
      // the mutex gets ahead of the end of this block. And nobody else changes the word now: it is
      // locked, and lock_ guards the other bits as long as `woken` is not set.
      next = static_cast<place*>(waiting_.claim_first());
      const std::uint32_t left = waiting_.empty() ? 0 : waiters;
      const bool hand_over = next != nullptr && next->losses >= most_losses;
      if (hand_over) next->handed_over.store(true);
      // [mutex] release → acquire in take.
      const std::uint32_t state = next == nullptr ? 0 : hand_over ? locked : woken;
      word_.store(state | left, std::memory_order_release);
    }
    if (next != nullptr) next->wake();
    return;
  }
}

extern template class basic_mutex<native>;

using mutex = basic_mutex<native>;

}  // namespace heddle
