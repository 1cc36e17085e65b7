#pragma once

#include <chrono>
#include <cstdlib>
#include <deque>
#include <latch>
#include <mutex>
#include <optional>

#include "queue_test.hpp"

// Threads that push and take at once, and what they check.

namespace heddle::queue_test {

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
        owner(owner_pops && number < producers),
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
  const bool owner;

  test_item* item(std::size_t which) { return items_.make(number, which); }

  /// Pushes the item of that number, waiting while the queue is full; an owner takes items instead.
  /// False when the run has failed.
  bool push(std::size_t which) {
    while (try_push(which) != push_result::ok) {
      if constexpr (owner_pops) take_one();
      if (!wait()) return false;
    }
    yield_at_random();
    return true;
  }

  push_result try_push(std::size_t which) {
    test_item* const pushed = item(which);
    const push_result result = queue.try_push(pushed, *handle);
    if (pops_newest && result == push_result::ok) pushed_.push_back(pushed);
    return result;
  }

  /// try_pop, or what a thief has in its place.
  pop_status take_one() {
    if (only_owner_pops && !owner) {
      const auto stolen = steal_from(queue, *handle);
      if (stolen) took(stolen.item);
      return stolen.status;
    }
    const auto popped = queue.try_pop(*handle);
    if (popped) {
      if (pops_newest && owner) {
        check_newest(popped.item);
      } else {
        check_order(popped.item);
      }
      count(popped.item);
    }
    return popped.status;
  }

  /// Lets the others have what an owner keeps to itself.
  void publish() {
    if constexpr (publishing<typename Subject::queue>) {
      if (owner) queue.publish_hidden(*handle);
    }
  }

  /// The last thing that a producer does which leaves its items to others.
  void leave_rest() {
    while (!traits.every_item_stealable && !all_taken()) {
      publish();
      if (!wait()) return;
    }
  }

  bool all_taken() const { return run.taken() == goal_; }

  void take_rest() {
    while (!all_taken()) {
      if (take_one() != pop_status::item && !wait()) return;
    }
  }

  /// `item` came by stealing.
  void took(test_item* item) {
    check_order(item);
    count(item);
  }

 private:
  void count(test_item* item) {
    if (item->times_taken.fetch_add(1, std::memory_order_relaxed) != 0) {
      run.fail("an item was taken twice");
    }
    run.took_one();
  }

  void check_order(test_item* item) {
    std::uint32_t& next_number = next_number_.at(item->producer);
    if (check_order_ && item->number < next_number) {
      run.fail("an item was taken after a later one of the same producer");
    }
    next_number = item->number + 1;
  }

  /// Thieves take the oldest, so the last pushed that this thread has not popped is there until all
  /// others are gone.
  void check_newest(test_item* item) {
    if (check_order_ && (pushed_.empty() || pushed_.back() != item)) {
      run.fail("the owner popped an item, and a newer one was there");
    }
    if (!pushed_.empty()) pushed_.pop_back();
  }

  round_items& items_;
  const std::uint64_t goal_;
  const bool check_order_;
  std::vector<std::uint32_t> next_number_;  // by producer
  std::vector<test_item*> pushed_;          // of which thieves may have taken the first
};

inline constexpr std::size_t most_producers = traits.push == role::any ? 4 : 1;
inline constexpr std::size_t most_consumers =
    traits.pop == role::any || (only_owner_pops && traits.steal == role::any) ? 7 : 1;
inline constexpr bool all_push_and_pop = traits.push == role::any && traits.pop == role::any;
inline constexpr bool strict_empty = traits.empty == truth::strict;
inline constexpr bool strict_full = traits.full == truth::strict && traits.exact_capacity;

/// How many of `items` to use: fewer where each costs more, since a run with yields, a sanitizer or
/// a ring so small that every few items need another thread to be scheduled slows them down.
template <class Subject>
std::size_t scaled(std::size_t items, const queue_options& options) {
  const bool tiny = traits.bounded && options.capacity_slots < 16;
  return std::max<std::size_t>(items / slowdown / (Subject::yields ? 5 : 1) / (tiny ? 4 : 1), 100);
}

struct plan {
  queue_options options{};
  std::size_t threads = 2;
  std::size_t producers = 1;  ///< the first threads
  std::size_t items_each = 0;
  bool check_order = ordered;
  std::size_t rounds = 1;
};

/// Runs body(actor) on each thread, in rounds over one queue with new threads and handles each, and
/// checks that all items come out once and nothing stays behind.
template <class Subject, class Body>
void stress(const plan& plan, const Body& body) {
  SCOPED_TRACE(describe(plan.options) + ", " + std::to_string(plan.producers) + " producers of " +
               std::to_string(plan.items_each) + " items, " + std::to_string(plan.threads) +
               " threads");
  typename Subject::queue queue(plan.options);
  run_state run;
  round_items items(plan.producers, plan.items_each);
  for (std::size_t round = 1; round <= plan.rounds; ++round) {
    run_threads(plan.threads, [&](std::size_t number) {
      actor<Subject> self(queue, items, run, round * items.total(), number, plan.producers,
                          plan.check_order);
      body(self);
    });
    if (!run.failed()) items.check_all_taken(run);
    ASSERT_EQ(run.problem(), "") << "round " << round;
    ASSERT_FALSE(queue.maybe_nonempty());
  }
}

}  // namespace heddle::queue_test
