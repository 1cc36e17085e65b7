#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <stdexcept>

#include <heddle/base/assert.hpp>
#include <heddle/base/clock.hpp>
#include <heddle/base/platform.hpp>
#include <heddle/sync/parker.hpp>
#include <heddle/sync/wait_list.hpp>

namespace heddle {

/// Counts permits; who finds none waits, a fiber suspended, a thread asleep. A released permit goes
/// to the one who has waited longest, never past it.
///
/// Who takes the last permit that is released may destroy it: release touches it no more once its
/// permits can be taken and those whom it served can run.
///
/// Threads:  any.
/// Progress: blocking; acquire and release that meet nobody are one atomic operation each, with the
///           load before it.
///
/// The word is twice the number of permits, plus 1 when the list is not empty; and then there are
/// no permits, and only who holds lock_ changes it. So nobody sleeps while there is a permit, and
/// no store–load race is left: acquire and release decide by operations on this one word.
template <class Platform, class Parker = parker>
class basic_semaphore {
 public:
  /// The most permits there can be: 2^63 - 1.
  static constexpr std::uint64_t max() noexcept {
    return std::numeric_limits<std::uint64_t>::max() / permit;
  }

  /// Errors: std::invalid_argument for more than max().
  explicit basic_semaphore(std::uint64_t permits) : word_(checked(permits) * permit) {}
  basic_semaphore(const basic_semaphore&) = delete;
  basic_semaphore& operator=(const basic_semaphore&) = delete;

  /// Takes a permit, waiting for it if need be.
  void acquire() {
    if (!try_acquire()) acquire_slowly(never_ns);
  }

  bool try_acquire() noexcept {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    while (seen >= permit) {
      // [permit] acquire → release in release: what was done before the permit was given is seen.
      if (word_.compare_exchange_weak(seen, seen - permit, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// False when the deadline came before a permit; one that has passed does not suspend. A stop of
  /// the runtime does not end the wait.
  bool try_acquire_until(deadline limit) { return try_acquire() || acquire_slowly(limit.at_ns()); }

  template <class Rep, class Period>
  bool try_acquire_for(std::chrono::duration<Rep, Period> duration) {
    return try_acquire_until(deadline(duration));
  }

  /// Gives `permits` back, or adds them. Threads: any.
  /// Errors: std::overflow_error, with nothing changed, when there would be more than max().
  void release(std::uint64_t permits = 1);

 private:
  static constexpr std::uint64_t waiters = 1;
  static constexpr std::uint64_t permit = 2;

  using list = wait_list<Platform, Parker>;
  using place = typename list::place;

  static std::uint64_t checked(std::uint64_t permits) {
    if (permits > max()) throw std::invalid_argument("a semaphore has at most 2^63 - 1 permits");
    return permits;
  }

  /// False: the time came first.
  bool acquire_slowly(std::uint64_t at_ns);
  bool take_or_announce() noexcept;

  typename Platform::template atomic<std::uint64_t> word_;
  typename Platform::mutex lock_;
  list waiting_;  // guarded by lock_
};

/// True: took a permit. False: the word says that somebody waits. Under lock_.
template <class Platform, class Parker>
bool basic_semaphore<Platform, Parker>::take_or_announce() noexcept {
  std::uint64_t seen = word_.load(std::memory_order_relaxed);
  while (seen != waiters) {
    // [permit] acquire → release in release.
    const std::uint64_t wanted = seen >= permit ? seen - permit : waiters;
    if (word_.compare_exchange_weak(seen, wanted, std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      return wanted != waiters;
    }
  }
  return false;
}

template <class Platform, class Parker>
bool basic_semaphore<Platform, Parker>::acquire_slowly(std::uint64_t at_ns) {
  if (Parker::passed(at_ns)) return false;
  place self;
  const auto publish = [&]() noexcept {
    std::lock_guard guard(lock_);
    if (take_or_announce()) return false;
    waiting_.push_back(self);
    return true;
  };
  if (at_ns == never_ns) {
    self.park(publish);
    return true;
  }
  if (self.park_until(at_ns, publish)) return true;
  std::lock_guard guard(lock_);
  HEDDLE_ASSERT(waiting_.empty() || word_.load(std::memory_order_relaxed) == waiters);
  waiting_.remove(self);
  // Relaxed: without permits there is nothing to hand over. The word is `waiters`, unless a release
  // has removed this place and perhaps others.
  std::uint64_t seen = waiters;
  if (waiting_.empty()) word_.compare_exchange_strong(seen, 0, std::memory_order_relaxed);
  return false;
}

template <class Platform, class Parker>
void basic_semaphore<Platform, Parker>::release(std::uint64_t permits) {
  constexpr const char* too_many = "a semaphore would have more than 2^63 - 1 permits";
  if (permits > max()) throw std::overflow_error(too_many);
  std::uint64_t seen = word_.load(std::memory_order_relaxed);
  for (;;) {
    if (seen != waiters) {
      if (permits > max() - seen / permit) throw std::overflow_error(too_many);
      // [permit] release → acquire in try_acquire.
      if (word_.compare_exchange_weak(seen, seen + permits * permit, std::memory_order_release,
                                      std::memory_order_relaxed)) {
        return;
      }
      continue;
    }
    typename list::claimed served;
    {
      std::lock_guard guard(lock_);
      // Relaxed: lock_ guards the word as long as it is `waiters`.
      seen = word_.load(std::memory_order_relaxed);
      if (seen != waiters) continue;  // the last has given up
      // The list is not empty, so at least one waiter has not left acquire(): nobody who may
      // destroy the semaphore gets ahead of the end of this block.
      while (permits > 0) {
        place* const next = waiting_.claim_first();
        if (next == nullptr) break;
        served.push(*next);
        --permits;
      }
      // [permit] release → acquire in try_acquire.
      if (waiting_.empty()) word_.store(permits * permit, std::memory_order_release);
    }
    served.wake_all();
    return;
  }
}

extern template class basic_semaphore<native>;

using semaphore = basic_semaphore<native>;

}  // namespace heddle
