#include <cstdio>

#include "random_calls.hpp"

namespace heddle::queue_test {
namespace {

/// Small histories, each searched for an order that explains it.
template <class Queue>
std::string search_small_histories(const random_plan& plan, std::size_t& overlapping_rounds) {
  random_calls<Queue> calls(plan);
  const std::string problem =
      calls.run([](const history::recording& calls, const history::specification& promised) {
        return history::check(calls, promised);
      });
  overlapping_rounds += calls.overlapping_rounds();
  return problem;
}

/// A large history, checked for what is certainly wrong.
template <class Queue>
std::string check_large_history(const random_plan& plan, history::rank_errors* errors = nullptr) {
  return random_calls<Queue>(plan).run(
      [errors](const history::recording& calls, const history::specification& promised) {
        history::large_history large(calls);
        if (errors) *errors = large.measure_rank_errors();
        return large.check(promised);
      });
}

template <class Subject>
std::size_t scaled(std::size_t count) {
  return std::max<std::size_t>(count / slowdown / (Subject::yields ? 2 : 1), 20);
}

template <class Subject>
class every_queue : public testing::Test {};
TYPED_TEST_SUITE(every_queue, on_all_platforms<true>, subject_names);

TYPED_TEST(every_queue, answers_as_if_calls_came_one_after_the_other) {
  std::size_t rounds = 0;
  std::size_t overlapping_rounds = 0;
  for (const queue_options& options : small_options()) {
    for (const std::size_t threads : {2, 3, 4}) {
      const random_plan plan{
          .options = options, .threads = threads, .rounds = scaled<TypeParam>(400)};
      ASSERT_EQ(search_small_histories<typename TypeParam::queue>(plan, overlapping_rounds), "")
          << describe(options);
      rounds += plan.rounds;
    }
  }
  std::printf("%zu histories, calls overlap in %zu\n", rounds, overlapping_rounds);
  // On the native platform it is for the machine to say whether threads of so few calls ever meet.
  if (TypeParam::yields) {
    EXPECT_GT(overlapping_rounds, rounds / 20) << "little was tested";
  }
}

TYPED_TEST(every_queue, keeps_its_order_and_bounds_over_many_calls) {
  for (const std::size_t capacity : capacities()) {
    const queue_options options{.capacity_slots = capacity, .first_index = first_indices[1]};
    history::rank_errors errors;
    const random_plan plan{
        .options = options, .threads = 4, .calls_each = scaled<TypeParam>(40'000)};
    ASSERT_EQ(check_large_history<typename TypeParam::queue>(plan, &errors), "")
        << describe(options);
    EXPECT_GT(errors.taken, 0u);
    if (traits.order == queue_order::fifo || pops_newest) continue;
    std::printf("capacity %zu: %zu items, rank error at least %.3f in the mean, %zu at most\n",
                capacity, errors.taken, errors.mean, errors.largest);
    this->RecordProperty("rank_error_mean", std::to_string(errors.mean));
    this->RecordProperty("rank_error_largest", std::to_string(errors.largest));
  }
}

enum class fault { drop, repeat, swap };

/// A queue that at every 16th item or so does what no queue may do.
template <class Queue, fault Fault>
class broken {
  using item = test_item*;

 public:
  struct handle {
    explicit handle(broken& broken) : inner(broken.queue_) {}
    typename Queue::handle inner;
    std::minstd_rand random{7};
  };

  explicit broken(const queue_options& options) : queue_(options) {}

  push_result try_push(item pushed, handle& handle) {
    return queue_.try_push(pushed, handle.inner);
  }
  pop_result<item> try_pop(handle& handle) {
    return spoil(handle, [&] { return queue_.try_pop(handle.inner); });
  }
  pop_result<item> try_steal(handle& handle) requires stealable<Queue, item> {
    return spoil(handle, [&] { return queue_.try_steal(handle.inner); });
  }
  pop_result<item> steal_half_into(broken& thief, std::size_t most,
                                   handle& handle) requires half_stealing<Queue, item> {
    return queue_.steal_half_into(thief.queue_, most, handle.inner);
  }
  bool maybe_nonempty() const { return queue_.maybe_nonempty(); }
  std::size_t capacity() const { return queue_.capacity(); }

 private:
  template <class Take>
  pop_result<item> spoil(handle& handle, const Take& take) {
    std::lock_guard guard(lock_);
    if (kept_) return {pop_status::item, std::exchange(kept_, nullptr)};
    const pop_result<item> taken = take();
    if (!taken || handle.random() % 16 != 0) return taken;
    if (Fault == fault::drop) return take();
    if (Fault == fault::repeat) kept_ = taken.item;
    if (Fault == fault::swap) {
      if (const pop_result<item> next = take()) {
        kept_ = taken.item;
        return next;
      }
    }
    return taken;
  }

  Queue queue_;
  std::mutex lock_;
  item kept_ = nullptr;
};

template <class Queue>
std::string find_fault_in_small_histories() {
  for (const std::size_t threads : {2, 3, 4}) {
    std::size_t overlapping_rounds = 0;
    const random_plan plan{.threads = threads, .rounds = 300};
    const std::string found = search_small_histories<Queue>(plan, overlapping_rounds);
    if (!found.empty()) return found;
  }
  return "";
}

template <class Queue>
std::string find_fault_in_large_history() {
  return check_large_history<Queue>({.threads = 4, .calls_each = 5'000});
}

template <class Subject>
class broken_queue : public testing::Test {};
TYPED_TEST_SUITE(broken_queue, on_native<true>, subject_names);

TYPED_TEST(broken_queue, is_found_when_it_drops_an_item) {
  using queue = broken<typename TypeParam::queue, fault::drop>;
  EXPECT_NE(find_fault_in_small_histories<queue>(), "");
  EXPECT_NE(find_fault_in_large_history<queue>(), "");
}

TYPED_TEST(broken_queue, is_found_when_it_gives_an_item_twice) {
  using queue = broken<typename TypeParam::queue, fault::repeat>;
  EXPECT_NE(find_fault_in_small_histories<queue>(), "");
  EXPECT_NE(find_fault_in_large_history<queue>(), "");
}

template <class Subject>
class broken_ordered_queue : public testing::Test {};
TYPED_TEST_SUITE(broken_ordered_queue, on_native<traits.order != queue_order::relaxed>,
                 subject_names);

TYPED_TEST(broken_ordered_queue, is_found_when_it_swaps_two_items) {
  using queue = broken<typename TypeParam::queue, fault::swap>;
  const std::string small = find_fault_in_small_histories<queue>();
  EXPECT_NE(small.find("not linearizable"), std::string::npos) << small;
  if (pops_newest) return;  // the check of large histories does not know the order of a deque
  const std::string large = find_fault_in_large_history<queue>();
  EXPECT_NE(large.find("overtook"), std::string::npos) << large;
}

}  // namespace
}  // namespace heddle::queue_test
