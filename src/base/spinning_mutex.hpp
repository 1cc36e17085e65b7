#pragma once

#include <cstdint>

#include <heddle/base/platform.hpp>

namespace heddle {

/// A lock that a waiter looks at for a moment, then sleeps for.
///
/// Source:   the three states of U. Drepper, "Futexes are tricky", 2011, behind a brief spin.
/// Threads:  any; never held across a suspension.   Progress: blocking, unfair: who comes while it
///           is free overtakes the sleepers.
///
/// One word says everything, so that no fence is needed between a look and a sleep.
template <class Platform>
class spinning_mutex {
 public:
  void lock() noexcept {
    if (try_lock()) return;
    for (int looks = 0; looks < looks_before_sleep<Platform>; ++looks) {
      Platform::pause();
      // relaxed: only tells when taking it is worth a try.
      if (state_.load(std::memory_order_relaxed) == free && try_lock()) return;
    }
    // Who may have slept cannot know that it was the only one, and takes the lock as `slept_for`:
    // at worst one wake-up for nobody. [unlocked] acquire ← release in unlock.
    while (state_.exchange(slept_for, std::memory_order_acquire) != free) {
      Platform::wait(state_, slept_for);
    }
  }

  bool try_lock() noexcept {
    std::uint32_t state = free;
    // [unlocked] acquire ← release in unlock: the holder before has finished its work. relaxed on
    // failure: nothing follows from the value.
    return state_.compare_exchange_strong(state, held, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  void unlock() noexcept {
    // [unlocked] release → acquire in lock and try_lock.
    if (state_.exchange(free, std::memory_order_release) == slept_for) {
      Platform::notify_one(&state_);
    }
  }

 private:
  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t held = 1;
  static constexpr std::uint32_t slept_for = 2;  ///< held, and somebody may sleep

  typename Platform::template atomic<std::uint32_t> state_{free};
};

}  // namespace heddle
