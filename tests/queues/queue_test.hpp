#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <heddle/base/platform.hpp>
#include <heddle/queues/queue_traits.hpp>

// The queue that this binary tests: the build generates, for each line of its table of queues, a
// header that defines the tag `queue_under_test` and the string `queue_name`, and names it here.
#include QUEUE_UNDER_TEST

/// A suite over an empty list of types has no tests and compiles none: this is how a test that the
/// traits make inapplicable stays away. GoogleTest has the end of the list, but no way to name it.
template <>
struct testing::internal::ProxyTypeList<> {
  using type = None;
};

namespace heddle::queue_test {

inline constexpr queue_traits traits = queue_under_test::traits;
/// The one who pushes pops too.
inline constexpr bool owner_pops = traits.push == role::owner;
/// try_pop is the owner's; the others have try_steal.
inline constexpr bool only_owner_pops = traits.pop == role::owner;
/// Whether try_pop takes the item that was pushed last.
inline constexpr bool pops_newest = traits.order == queue_order::lifo_owner_fifo_thief;
/// Whether the items that one consumer, or one thief, takes from one producer come in the
/// producer's order.
inline constexpr bool ordered = traits.order == queue_order::fifo ||
                                traits.order == queue_order::fifo_per_producer || pops_newest;

/// By how much a sanitizer slows a run down, so that each binary takes about the same time.
#if defined(HEDDLE_TSAN)
inline constexpr std::size_t slowdown = 5;
#elif defined(HEDDLE_ASAN)
inline constexpr std::size_t slowdown = 2;
#else
inline constexpr std::size_t slowdown = 1;
#endif

/// Derived from queue_hook, so that one text serves intrusive queues and all others.
struct test_item : queue_hook {
  std::uint32_t producer = 0;
  std::uint32_t number = 0;
  std::atomic<std::uint32_t> times_taken{0};  ///< relaxed everywhere: it must not order the queue
};

/// Gives the processor away at random, at about every 16th call: more threads than processors then
/// meet in the middle of operations, also on one processor.
inline void yield_at_random() {
  thread_local std::minstd_rand random{
      static_cast<unsigned>(std::hash<std::thread::id>{}(std::this_thread::get_id()))};
  if (random() % 16 == 0) std::this_thread::yield();
}

/// The native platform with a random yield before each atomic operation.
struct yielding : native {
  template <class T>
  class atomic : public std::atomic<T> {
   public:
    using std::atomic<T>::atomic;

    T load(std::memory_order order) const {
      yield_at_random();
      return std::atomic<T>::load(order);
    }
    void store(T value, std::memory_order order) {
      yield_at_random();
      std::atomic<T>::store(value, order);
    }
    T exchange(T value, std::memory_order order) {
      yield_at_random();
      return std::atomic<T>::exchange(value, order);
    }
    bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) {
      yield_at_random();
      return std::atomic<T>::compare_exchange_weak(expected, desired, success, failure);
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                                 std::memory_order failure) {
      yield_at_random();
      return std::atomic<T>::compare_exchange_strong(expected, desired, success, failure);
    }
    T fetch_add(T value, std::memory_order order) {
      yield_at_random();
      return std::atomic<T>::fetch_add(value, order);
    }
    T fetch_sub(T value, std::memory_order order) {
      yield_at_random();
      return std::atomic<T>::fetch_sub(value, order);
    }
  };
};

/// The type parameter of the suites: a queue on a platform.
template <class Platform>
struct subject {
  using queue = queue_under_test::type<test_item*, Platform>;
  using handle = typename queue::handle;
  static constexpr bool yields = std::is_same_v<Platform, yielding>;
};

struct subject_names {
  template <class Subject>
  static std::string GetName(int) {
    return std::string(queue_name) + (Subject::yields ? "-yielding" : "");
  }
};

/// Lists of subjects; empty unless `Applies`.
template <bool Applies>
using on_native = std::conditional_t<Applies, testing::Types<subject<native>>, testing::Types<>>;
template <bool Applies>
using on_all_platforms =
    std::conditional_t<Applies && !traits.native_only,
                       testing::Types<subject<native>, subject<yielding>>, on_native<Applies>>;

/// Capacities to test: 0, which no unbounded queue looks at, or the smallest, small and usual ones.
inline std::vector<std::size_t> capacities() {
  if (!traits.bounded) return {0};
  return {traits.smallest_capacity, std::max<std::size_t>(4, traits.smallest_capacity), 256};
}

/// Counters start at zero, and where 32 and 64 bits are about to wrap around.
inline constexpr std::array<std::uint64_t, 3> first_indices{
    0, std::numeric_limits<std::uint32_t>::max() - 3,
    std::numeric_limits<std::uint64_t>::max() - 3};

inline std::vector<queue_options> small_options() {
  std::vector<queue_options> all;
  for (const std::size_t capacity : capacities()) {
    for (const std::uint64_t first_index : first_indices) {
      all.push_back({.capacity_slots = capacity, .first_index = first_index});
    }
  }
  return all;
}

inline std::string describe(const queue_options& options) {
  return "capacity " + std::to_string(options.capacity_slots) + ", first index " +
         std::to_string(options.first_index);
}

}  // namespace heddle::queue_test
