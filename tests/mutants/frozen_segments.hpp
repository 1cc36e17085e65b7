#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "mutant.hpp"

namespace heddle::mutants {

enum class frozen_segments_bug {
  none,
  flag_before_tail,  ///< M17
};

/// Segments in the way of .NET's ConcurrentQueue: a full segment is frozen, by a large step of its
/// tail that makes every later push fail and by a flag that tells consumers of the step; then the
/// next one is opened. Segments of two slots, used once.
///
/// [filled] carries the item; [frozen] the step of the tail, which must be seen with the flag;
/// [opened] the end of a segment to those who go to the next one.
template <class Platform, frozen_segments_bug Bug>
class frozen_segments_queue {
  using bug = frozen_segments_bug;
  using position = std::int32_t;

 public:
  using handle = stateless_handle;

  explicit frozen_segments_queue(const queue_options&) {}

  push_result try_push(int item, handle&) {
    for (;;) {
      const unsigned last = last_.load(std::memory_order_acquire);  // [opened]
      if (segments_[last].push(item)) return push_result::ok;
      const std::lock_guard lock(opening_);
      if (last_.load(std::memory_order_relaxed) != last) continue;  // the lock orders it
      segments_[last].freeze();
      last_.store(last + 1, std::memory_order_release);  // [opened]
    }
  }

  pop_result<int> try_pop(handle&) {
    for (;;) {
      const unsigned first = first_.load(std::memory_order_acquire);  // [opened]
      pop_result<int> got = segments_[first].pop();
      if (got.status != pop_status::empty) return got;
      if (last_.load(std::memory_order_acquire) == first) return {};  // [opened]
      // Frozen by now, so it cannot fill again: look once more, then leave it.
      got = segments_[first].pop();
      if (got.status != pop_status::empty) return got;
      unsigned expected = first;
      first_.compare_exchange_strong(expected, first + 1, std::memory_order_acq_rel,
                                     std::memory_order_relaxed);
    }
  }

 private:
  template <class Value>
  using atomic = typename Platform::template atomic<Value>;

  class segment {
   public:
    bool push(int item) {
      position at = tail_.load(std::memory_order_relaxed);
      do {
        if (at >= slots) return false;  // full, or frozen
        // relaxed: it only hands out a slot; [filled] publishes the item.
      } while (!tail_.compare_exchange_strong(at, at + 1, std::memory_order_relaxed,
                                              std::memory_order_relaxed));
      items_[static_cast<std::size_t>(at)].store(item, std::memory_order_release);  // [filled]
      return true;
    }

    pop_result<int> pop() {
      position at = head_.load(std::memory_order_acquire);
      for (;;) {
        const bool frozen = frozen_.load(std::memory_order_acquire);  // [frozen]
        const position tail = tail_.load(std::memory_order_acquire) - (frozen ? freeze_step : 0);
        if (tail <= at) return {};
        // Between step and flag the tail is past all slots.
        if (at == slots) return {pop_status::contended};
        const int item = items_[static_cast<std::size_t>(at)].load(std::memory_order_acquire);
        if (item == 0) return {pop_status::contended};  // claimed, and not [filled]
        // release → acquire: who sees the head sees the tail that allowed it.
        if (head_.compare_exchange_strong(at, at + 1, std::memory_order_acq_rel,
                                          std::memory_order_acquire)) {
          return {pop_status::item, item};
        }
      }
    }

    void freeze() {
      if (Bug == bug::flag_before_tail) frozen_.store(true, std::memory_order_release);
      tail_.fetch_add(freeze_step, std::memory_order_acq_rel);
      if (Bug != bug::flag_before_tail) {
        frozen_.store(true, std::memory_order_release);  // [frozen]
      }
    }

   private:
    static constexpr position slots = 2;
    static constexpr position freeze_step = 1 << 16;

    std::array<atomic<int>, slots> items_{};
    atomic<bool> frozen_{false};
    atomic<position> tail_{0};
    atomic<position> head_{0};
  };

  std::array<segment, 4> segments_{};
  typename Platform::mutex opening_;
  atomic<unsigned> last_{0};
  atomic<unsigned> first_{0};
};

template <frozen_segments_bug Bug>
struct frozen_segments {
  template <class T, class Platform>
  using type = frozen_segments_queue<Platform, Bug>;
};

}  // namespace heddle::mutants
