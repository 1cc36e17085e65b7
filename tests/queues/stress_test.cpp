#include "stress.hpp"

namespace heddle::queue_test {
namespace {

/// Producers push while consumers take; an owner takes some of its items itself.
template <class Subject>
void transfer(const plan& plan) {
  stress<Subject>(plan, [&](auto& self) {
    if (self.number >= plan.producers) return self.take_rest();
    for (std::size_t which = 0; which < plan.items_each; ++which) {
      if (!self.push(which)) return;
      if (owner_pops && which % 3 == 0) self.take_one();
      if (self.random() % 64 == 0) self.publish();
    }
    if (!traits.every_item_stealable) self.take_rest();
  });
}

template <class Subject>
class every_queue : public testing::Test {};
TYPED_TEST_SUITE(every_queue, on_all_platforms<true>, subject_names);

TYPED_TEST(every_queue, delivers_each_item_once_and_in_order) {
  constexpr std::size_t counts[][2] = {{1, 1}, {1, 3}, {3, 1}, {4, 4}};
  for (const auto& [producers, consumers] : counts) {
    if (producers > most_producers || consumers > most_consumers) continue;
    for (const queue_options& options : small_options()) {
      transfer<TypeParam>({.options = options,
                           .threads = producers + consumers,
                           .producers = producers,
                           .items_each = scaled<TypeParam>(50'000, options) / producers,
                           .rounds = 2});
      if (this->HasFatalFailure()) return;
    }
  }
}

/// With HEDDLE_LONG in the environment, 100 million items on the native platform.
TYPED_TEST(every_queue, delivers_each_item_once_from_one_owner_to_seven_thieves) {
  const bool long_run = std::getenv("HEDDLE_LONG") && !TypeParam::yields;
  const std::vector<std::size_t> all = capacities();
  const std::size_t smallest = std::min<std::size_t>(all.size(), 2);
  for (std::size_t at = 0; at < smallest; ++at) {
    const queue_options options{.capacity_slots = all[at], .first_index = first_indices[1]};
    transfer<TypeParam>({.options = options,
                         .threads = 1 + most_consumers,
                         .items_each = long_run ? 1'000'000 : scaled<TypeParam>(300'000, options),
                         .rounds = long_run ? 100 / smallest : 2});
    if (this->HasFatalFailure()) return;
  }
}

/// Credits are given for pushes that have completed, and nobody pops without one: so whoever has
/// taken a credit knows that an item is there.
template <class Subject>
void pop_with_credits(std::size_t consumers, std::size_t items, const queue_options& options) {
  constexpr std::size_t producers = std::min<std::size_t>(most_producers, 3);
  std::atomic<int> credits{0};
  const auto take_credit = [&credits] {
    int count = credits.load(std::memory_order_relaxed);
    while (count > 0 && !credits.compare_exchange_weak(count, count - 1, std::memory_order_acquire,
                                                       std::memory_order_relaxed)) {
    }
    return count > 0;
  };
  const auto use_credit = [&](auto& self) {
    for (;;) {
      if (consumers == 1 && !self.queue.maybe_nonempty()) {
        self.run.fail("maybe_nonempty is false, and an item is there");
      }
      yield_at_random();
      const pop_status status = self.take_one();
      if (status == pop_status::item) return;
      if (strict_empty && status == pop_status::empty &&
          (self.owner || traits.every_item_stealable)) {
        self.run.fail("said empty, and an item is there");
      }
      self.publish();
      if (!self.wait()) return;
    }
  };
  const plan plan{.options = options,
                  .threads = producers + consumers,
                  .producers = producers,
                  .items_each = items};
  stress<Subject>(plan, [&](auto& self) {
    for (std::size_t which = 0; self.number < producers && which < items; ++which) {
      // Not push(): an owner that takes when the ring is full would do so without a credit.
      while (self.try_push(which) != push_result::ok) {
        self.publish();
        if (!self.wait()) return;
      }
      credits.fetch_add(1, std::memory_order_release);
      if (owner_pops && consumers > 1 && which % 3 == 0 && take_credit()) use_credit(self);
      yield_at_random();
    }
    if (self.number < producers) return self.leave_rest();
    while (!self.all_taken()) {
      if (take_credit()) {
        use_credit(self);
      } else if (!self.wait()) {
        return;
      }
    }
  });
}

/// The promise on which a worker goes to sleep. There is one consumer, since the item of another's
/// credit may be the one that was pushed before the look.
TYPED_TEST(every_queue, never_looks_empty_while_a_completed_push_waits) {
  for (const queue_options& options : small_options()) {
    pop_with_credits<TypeParam>(1, scaled<TypeParam>(30'000, options), options);
    if (this->HasFatalFailure()) return;
  }
}

template <class Subject>
class strict_queue : public testing::Test {};
TYPED_TEST_SUITE(strict_queue, on_all_platforms<strict_empty>, subject_names);

TYPED_TEST(strict_queue, never_says_empty_while_a_completed_push_waits) {
  for (const queue_options& options : small_options()) {
    pop_with_credits<TypeParam>(most_consumers, scaled<TypeParam>(30'000, options), options);
    if (this->HasFatalFailure()) return;
  }
}

template <class Subject>
class strict_shared_queue : public testing::Test {};
TYPED_TEST_SUITE(strict_shared_queue, on_all_platforms<strict_empty && all_push_and_pop>,
                 subject_names);

/// The same promise without a word between the threads: what fools a wrong list is that a thread
/// reuses at once what it has popped, and credits would keep them apart.
TYPED_TEST(strict_shared_queue, gives_each_thread_an_item_after_its_own_push) {
  for (const queue_options& options : small_options()) {
    const std::size_t each = scaled<TypeParam>(40'000, options);
    const plan plan{.options = options, .threads = 6, .producers = 6, .items_each = each};
    stress<TypeParam>(plan, [&](auto& self) {
      for (std::size_t which = 0; which < each; ++which) {
        if (!self.push(which)) return;
        for (;;) {
          const pop_status status = self.take_one();
          if (status == pop_status::item) break;
          if (status == pop_status::empty) self.run.fail("said empty after an own push");
          if (!self.wait()) return;
        }
      }
    });
    if (this->HasFatalFailure()) return;
  }
}

template <class Subject>
class shared_queue : public testing::Test {};
TYPED_TEST_SUITE(shared_queue, on_all_platforms<all_push_and_pop>, subject_names);

/// Threads that pop more than they pushed reuse at once what a slower thread still looks at, and
/// short-lived handles pass it on to others.
TYPED_TEST(shared_queue, delivers_each_item_once_when_all_push_and_pop_and_handles_come_and_go) {
  for (const queue_options& options : small_options()) {
    const std::size_t each = scaled<TypeParam>(40'000, options);
    // Where the order is a producer's, the producer is the handle, not the thread.
    const plan plan{.options = options,
                    .threads = 6,
                    .producers = 6,
                    .items_each = each,
                    .check_order = traits.order == queue_order::fifo};
    stress<TypeParam>(plan, [&](auto& self) {
      for (std::size_t which = 0; !self.all_taken();) {
        if (self.random() % (1 + self.number) == 0) self.handle.emplace(self.queue);
        bool moved = false;
        if (which < each && self.random() % 2 == 0) {
          moved = self.try_push(which) == push_result::ok;
          which += moved;
        } else {
          moved = self.take_one() == pop_status::item;
        }
        if (!moved && !self.wait()) return;
      }
    });
    if (this->HasFatalFailure()) return;
  }
}

template <class Subject>
class bounded_queue : public testing::Test {};
TYPED_TEST_SUITE(bounded_queue, on_all_platforms<traits.bounded>, subject_names);

/// `entered` and `left` count what has surely happened, `entering` and `leaving` what may have.
TYPED_TEST(bounded_queue, never_holds_more_than_its_capacity_nor_refuses_below_it) {
  constexpr std::size_t producers = std::min<std::size_t>(most_producers, 3);
  constexpr std::size_t consumers = std::min<std::size_t>(most_consumers, 4);
  for (const queue_options& options : small_options()) {
    const auto capacity = static_cast<std::int64_t>(options.capacity_slots);
    const std::size_t each = scaled<TypeParam>(20'000, options);
    std::atomic<std::int64_t> entering{0}, entered{0}, leaving{0}, left{0};
    const plan plan{.options = options,
                    .threads = producers + consumers,
                    .producers = producers,
                    .items_each = each};
    stress<TypeParam>(plan, [&](auto& self) {
      for (std::size_t which = 0; self.number < producers && which < each; ++which) {
        ++entering;
        for (;;) {
          const std::int64_t left_before = left;
          if (self.try_push(which) == push_result::ok) break;
          if (strict_full && entering - 1 - left_before < capacity) {
            self.run.fail("try_push said full, and there was room");
          }
          self.publish();
          if (!self.wait()) return;
        }
        if (++entered - leaving > capacity) self.run.fail("more items than the capacity");
        if (self.queue.approximate_size() > self.queue.capacity()) {
          self.run.fail("a size above the capacity");
        }
      }
      if (self.number < producers) return self.leave_rest();
      while (!self.all_taken()) {
        ++leaving;
        if (self.take_one() == pop_status::item) {
          ++left;
        } else {
          --leaving;
          if (!self.wait()) return;
        }
      }
    });
    if (this->HasFatalFailure()) return;
  }
}

template <class Subject>
class unbounded_queue : public testing::Test {};
TYPED_TEST_SUITE(unbounded_queue, on_all_platforms<!traits.bounded>, subject_names);

/// The consumer is slower than the producers, so the queue grows.
TYPED_TEST(unbounded_queue, grows_while_others_push_and_pop) {
  const std::size_t each = scaled<TypeParam>(100'000, {});
  const plan plan{.threads = most_producers + 1, .producers = most_producers, .items_each = each};
  stress<TypeParam>(plan, [&](auto& self) {
    for (std::size_t which = 0; self.number < most_producers && which < each; ++which) {
      if (self.try_push(which) != push_result::ok) {
        return self.run.fail("an unbounded queue was full");
      }
    }
    if (self.number < most_producers) return self.leave_rest();
    while (!self.all_taken() && self.wait()) self.take_one();
  });
}

}  // namespace
}  // namespace heddle::queue_test
