#pragma once

#include <array>
#include <cstdint>

#include "chase_lev.hpp"

namespace heddle::mutants {

enum class age_deque_bug {
  none,
  age_and_bottom_unordered,  ///< M6
};

/// Deque of N. S. Arora, R. D. Blumofe, C. G. Plaxton ("Thread scheduling for multiprogrammed
/// multiprocessors", SPAA 1998): a fixed array that starts again at its first slot when it runs
/// empty; the tag in `age` tells one use from the next.
///
/// [pushed] carries the items. As in chase_lev.hpp, pop_bottom stores bottom and loads age, a thief
/// reads age, which another thief has written, and loads bottom; a fence stands between each.
template <class Platform, age_deque_bug Bug>
class age_deque_queue {
  using bug = age_deque_bug;

 public:
  using handle = stateless_handle;

  explicit age_deque_queue(const queue_options&) {}

  /// Owner only.
  push_result try_push(int item, handle&) {
    const std::uint32_t bottom = bottom_.load(std::memory_order_relaxed);
    if (bottom == slots_.size()) return push_result::full;
    slots_[bottom].store(item, std::memory_order_relaxed);
    bottom_.store(bottom + 1, std::memory_order_release);  // [pushed]
    return push_result::ok;
  }

  /// Owner only: the last item.
  pop_result<int> try_pop(handle&) {
    std::uint32_t bottom = bottom_.load(std::memory_order_relaxed);
    if (bottom == 0) return {};
    --bottom;
    bottom_.store(bottom, std::memory_order_release);
    Platform::fence(std::memory_order_seq_cst);
    const int item = slots_[bottom].load(std::memory_order_relaxed);
    std::uint64_t age = age_.load(std::memory_order_relaxed);
    if (bottom > top_of(age)) return {pop_status::item, item};
    // The last item, or none: the array starts again, under a new tag.
    const std::uint64_t fresh = ((age >> 32) + 1) << 32;
    const bool last = bottom == top_of(age);
    bottom_.store(0, std::memory_order_relaxed);
    // release → acquire in try_steal: bottom starts again before age does.
    if (last && age_.compare_exchange_strong(age, fresh, std::memory_order_release,
                                             std::memory_order_relaxed)) {
      return {pop_status::item, item};
    }
    age_.store(fresh, std::memory_order_release);
    return {};
  }

  /// Any thread: the first item.
  pop_result<int> try_steal(handle&) {
    constexpr bool ordered = Bug != bug::age_and_bottom_unordered;
    constexpr std::memory_order order =
        ordered ? std::memory_order_acquire : std::memory_order_relaxed;
    std::uint64_t age = age_.load(order);
    if (ordered) Platform::fence(std::memory_order_seq_cst);
    if (bottom_.load(order) <= top_of(age)) return {};
    const int item = slots_[top_of(age)].load(std::memory_order_relaxed);
    if (!age_.compare_exchange_strong(age, age + 1, std::memory_order_release,
                                      std::memory_order_relaxed)) {
      return {pop_status::contended};
    }
    return {pop_status::item, item};
  }

 private:
  static constexpr std::uint32_t top_of(std::uint64_t age) {
    return static_cast<std::uint32_t>(age);
  }

  std::array<typename Platform::template atomic<int>, 4> slots_{};
  typename Platform::template atomic<std::uint64_t> age_{0};  ///< tag above, top below
  typename Platform::template atomic<std::uint32_t> bottom_{0};
};

template <age_deque_bug Bug>
struct age_deque {
  template <class T, class Platform>
  using type = age_deque_queue<Platform, Bug>;
};

}  // namespace heddle::mutants
