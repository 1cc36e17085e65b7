#pragma once

#include <cstdint>

#include <heddle/base/platform.hpp>

namespace heddle {

/// A lock that serves its waiters in the order in which they came.
///
/// Source:   J. M. Mellor-Crummey, M. L. Scott, "Algorithms for scalable synchronization on
///           shared-memory multiprocessors", ACM TOCS 9(1), 1991, section 2.2; the sleep is added.
/// Threads:  any, up to 2^31 at a time; never held across a suspension.
/// Progress: blocking, fair. All waiters look at one word: a hand-off interrupts each of them, and
///           wakes all that sleep although one can go on. While the next in turn is preempted, so
///           is the lock.
///
/// The turn and the mark that somebody sleeps are one word, so that no fence is needed between a
/// look and a sleep.
template <class Platform>
class ticket_lock {
 public:
  void lock() noexcept {
    // relaxed: it only hands out turns.
    const std::uint32_t mine = next_.fetch_add(one_turn, std::memory_order_relaxed);
    // [handed over] acquire ← release in unlock: the holder before has finished its work.
    std::uint32_t serving = serving_.load(std::memory_order_acquire);
    for (int looks = 0; turn_of(serving) != mine; ++looks) {
      if (looks < looks_before_sleep<Platform>) {
        Platform::pause();
      } else if (mark_sleeper(serving)) {
        Platform::wait(serving_, serving);
      }
      serving = serving_.load(std::memory_order_acquire);  // [handed over] likewise.
    }
  }

  void unlock() noexcept {
    // relaxed: only the holder changes the turn.
    const std::uint32_t turn = turn_of(serving_.load(std::memory_order_relaxed));
    // [handed over] release → acquire in lock.
    const std::uint32_t before = serving_.exchange(turn + one_turn, std::memory_order_release);
    if (before & sleeper) Platform::notify_all(&serving_);
  }

 private:
  static constexpr std::uint32_t sleeper = 1;  ///< set in serving_ while somebody may sleep
  static constexpr std::uint32_t one_turn = 2;

  static constexpr std::uint32_t turn_of(std::uint32_t serving) { return serving & ~sleeper; }

  /// False: the word is no longer `serving`, so it needs another look.
  bool mark_sleeper(std::uint32_t& serving) noexcept {
    const std::uint32_t marked = serving | sleeper;
    // relaxed: who sleeps has read nothing yet, and [handed over] passes through this update.
    const bool set = serving == marked ||
                     serving_.compare_exchange_strong(serving, marked, std::memory_order_relaxed,
                                                      std::memory_order_relaxed);
    serving = marked;
    return set;
  }

  // Written by who comes.
  typename Platform::template atomic<std::uint32_t> next_{0};
  // Written by the holder, and by who falls asleep.
  typename Platform::template atomic<std::uint32_t> serving_{0};
};

}  // namespace heddle
