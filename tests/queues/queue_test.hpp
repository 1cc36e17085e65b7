#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <latch>
#include <limits>
#include <mutex>
#include <optional>
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
inline constexpr bool owner_pops = traits.push == role::owner;
/// Whether the items that one consumer takes from one producer come in the producer's order.
inline constexpr bool ordered =
    traits.order == queue_order::fifo || traits.order == queue_order::fifo_per_producer;

static_assert(traits.pop == role::any || traits.pop == role::one,
              "run_queue has no operation for the thieves of a queue that only its owner pops");

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

/// What the threads of one run share: the count of items that were taken, which is also how the run
/// shows that it goes on, and the first thing that went wrong.
class run_state {
 public:
  void took_one() { taken_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }

  void fail(const std::string& problem) {
    std::lock_guard guard(lock_);
    if (problem_.empty()) problem_ = problem;
    failed_.store(true, std::memory_order_relaxed);
  }
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  std::string problem() const {
    std::lock_guard guard(lock_);
    return problem_;
  }

 private:
  std::atomic<std::uint64_t> taken_{0};
  std::atomic<bool> failed_{false};
  mutable std::mutex lock_;
  std::string problem_;
};

/// One thread's wait for another to make progress. The loop around it ends when the run fails, or
/// when nobody has taken an item for a minute.
class patience {
 public:
  explicit patience(run_state& run) : run_(run) {}

  /// Gives the processor away; false when waiting is hopeless.
  bool operator()() {
    std::this_thread::yield();
    if (++calls_ % 256 == 0) look_at_clock();
    return !run_.failed();
  }

 private:
  using clock = std::chrono::steady_clock;

  void look_at_clock() {
    const auto now = clock::now();
    const std::uint64_t taken = run_.taken();
    if (taken != last_taken_) {
      last_taken_ = taken;
      since_ = now;
      calls_ = 0;
    } else if (calls_ > 100'000 && now - since_ > std::chrono::minutes(1)) {
      run_.fail("no item was taken for a minute");
    }
  }

  run_state& run_;
  std::uint64_t calls_ = 0;
  std::uint64_t last_taken_ = 0;
  clock::time_point since_ = clock::now();
};

/// Runs body(0) to body(count - 1), each on a thread of its own, from a common start to the end of
/// all.
template <class Body>
void run_threads(std::size_t count, const Body& body) {
  std::latch start(static_cast<std::ptrdiff_t>(count));
  std::vector<std::jthread> threads;
  for (std::size_t number = 0; number < count; ++number) {
    threads.emplace_back([&start, &body, number] {
      start.arrive_and_wait();
      body(number);
    });
  }
}

/// The items of one round. A round ends when all are taken, and the next one uses them again: so
/// the number of items of a run is not bounded by memory.
class round_items {
 public:
  round_items(std::size_t producers, std::size_t each) : each_(each), items_(producers * each) {}

  std::size_t total() const { return items_.size(); }

  test_item* make(std::size_t producer, std::size_t number) {
    test_item& item = items_[producer * each_ + number];
    item.producer = static_cast<std::uint32_t>(producer);
    item.number = static_cast<std::uint32_t>(number);
    return &item;
  }

  /// Between rounds: every item was taken once, and may be used again.
  void check_all_taken(run_state& run) {
    for (test_item& item : items_) {
      if (item.times_taken.exchange(0, std::memory_order_relaxed) != 1) {
        run.fail("an item was not taken exactly once");
      }
    }
  }

 private:
  std::size_t each_;
  std::vector<test_item> items_;
};

/// What one thread does in one round. Its number is that of its producer, if it is one.
template <class Subject>
class actor {
 public:
  actor(typename Subject::queue& queue, round_items& items, run_state& run, std::uint64_t goal,
        std::size_t number, std::size_t producers, bool check_order)
      : queue(queue),
        run(run),
        number(number),
        handle(std::in_place, queue),
        wait(run),
        random(static_cast<unsigned>(number + 1)),
        items_(items),
        goal_(goal),
        check_order_(check_order),
        next_number_(producers, 0) {}

  typename Subject::queue& queue;
  run_state& run;
  const std::size_t number;
  std::optional<typename Subject::handle> handle;
  patience wait;
  std::minstd_rand random;

  test_item* item(std::size_t which) { return items_.make(number, which); }

  /// Pushes the item of that number, waiting while the queue is full; an owner takes items instead.
  /// False when the run has failed.
  bool push(std::size_t which) {
    while (queue.try_push(item(which), *handle) != push_result::ok) {
      if constexpr (owner_pops) take_one();
      if (!wait()) return false;
    }
    yield_at_random();
    return true;
  }

  pop_status take_one() {
    const auto popped = queue.try_pop(*handle);
    if (popped) took(popped.item);
    return popped.status;
  }

  bool all_taken() const { return run.taken() == goal_; }

  void take_rest() {
    while (!all_taken()) {
      if (take_one() != pop_status::item && !wait()) return;
    }
  }

  void took(test_item* item) {
    if (item->times_taken.fetch_add(1, std::memory_order_relaxed) != 0) {
      run.fail("an item was taken twice");
    }
    std::uint32_t& next_number = next_number_.at(item->producer);
    if (check_order_ && item->number < next_number) {
      run.fail("an item was taken after a later one of the same producer");
    }
    next_number = item->number + 1;
    run.took_one();
  }

 private:
  round_items& items_;
  const std::uint64_t goal_;
  const bool check_order_;
  std::vector<std::uint32_t> next_number_;  // by producer
};

}  // namespace heddle::queue_test
