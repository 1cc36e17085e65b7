#include "model.hpp"

namespace heddle::queue_test {
namespace {

template <class Subject>
class every_queue : public testing::Test {};
TYPED_TEST_SUITE(every_queue, on_native<true>, subject_names);

TYPED_TEST(every_queue, pops_nothing_when_fresh) {
  for (const queue_options& options : small_options()) {
    SCOPED_TRACE(describe(options));
    typename TypeParam::queue queue(options);
    typename TypeParam::handle handle(queue);
    EXPECT_EQ(queue.try_pop(handle).status, pop_status::empty);
    EXPECT_EQ(queue.try_pop(handle).status, pop_status::empty);
    EXPECT_FALSE(queue.maybe_nonempty());
    EXPECT_EQ(queue.approximate_size(), 0u);
    test_item item;
    EXPECT_EQ(push(queue, &item, handle, true), push_result::ok);
    EXPECT_TRUE(queue.maybe_nonempty());
    const auto popped = pop(queue, handle, true);
    EXPECT_EQ(popped.status, pop_status::item);
    EXPECT_EQ(popped.item, &item);
    EXPECT_EQ(queue.try_pop(handle).status, pop_status::empty);
  }
}

/// Random operations on a queue and its model. The mix leans towards pushes for a while, then
/// towards pops, so that a small ring is often full and often empty and a pool grows.
template <class Subject>
void compare_with_model(const queue_options& options, std::size_t handle_count, unsigned seed) {
  SCOPED_TRACE(describe(options) + ", seed " + std::to_string(seed));
  typename Subject::queue queue(options);
  std::deque<typename Subject::handle> handles;
  for (std::size_t count = 0; count < handle_count; ++count) handles.emplace_back(queue);
  model expected(handle_count);
  std::minstd_rand random(seed);
  constexpr std::size_t steps = 400'000 / slowdown;
  std::vector<test_item> items(steps);
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t by = random() % handle_count;
    const std::size_t size = expected.size();
    const bool leans_to_push = step / 500 % 2 == 0;
    if (random() % 8 < (leans_to_push ? 5u : 3u)) {
      const bool room = !traits.bounded || size < queue.capacity();
      const push_result result = push(queue, &items[step], handles[by], room);
      if (must_have_room(size)) {
        ASSERT_EQ(result, room ? push_result::ok : push_result::full) << "step " << step;
      } else {
        ASSERT_TRUE(room || result == push_result::full) << "step " << step;
      }
      if (result == push_result::ok) expected.push(&items[step], by);
    } else {
      const auto popped = pop(queue, handles[by], size != 0);
      ASSERT_EQ(popped.status, size != 0 ? pop_status::item : pop_status::empty) << "step " << step;
      if (popped) {
        ASSERT_TRUE(expected.pop(popped.item)) << "out of order in step " << step;
      }
    }
    ASSERT_EQ(queue.maybe_nonempty(), expected.size() != 0) << "step " << step;
    ASSERT_LE(queue.approximate_size(), traits.bounded ? queue.capacity() : steps);
  }
  for (test_item* item : drain(queue, handles[0])) ASSERT_TRUE(expected.pop(item));
  ASSERT_EQ(expected.size(), 0u);
  ASSERT_FALSE(queue.maybe_nonempty());
}

TYPED_TEST(every_queue, agrees_with_a_deque_under_random_operations) {
  unsigned seed = 1;
  for (const queue_options& options : small_options()) {
    compare_with_model<TypeParam>(options, 1, seed++);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(every_queue, can_be_destroyed_with_items_inside) {
  std::vector<test_item> items(1000);
  for (const queue_options& options : small_options()) {
    typename TypeParam::queue queue(options);
    typename TypeParam::handle handle(queue);
    for (test_item& item : items) queue.try_push(&item, handle);
    for (int count = 0; count < 100; ++count) queue.try_pop(handle);
  }
}

TYPED_TEST(every_queue, keeps_items_when_their_handle_is_gone) {
  for (const queue_options& options : small_options()) {
    SCOPED_TRACE(describe(options));
    typename TypeParam::queue queue(options);
    std::vector<test_item> items(10'000 / slowdown);
    test_item* previous = nullptr;
    for (test_item& item : items) {
      typename TypeParam::handle handle(queue);
      ASSERT_EQ(push(queue, &item, handle, true), push_result::ok);
      if (previous) {
        ASSERT_TRUE(pop(queue, handle, true));
      }
      previous = &item;
    }
    typename TypeParam::handle handle(queue);
    EXPECT_EQ(drain(queue, handle).size(), 1u);
  }
}

template <class Subject>
class shared_queue : public testing::Test {};
TYPED_TEST_SUITE(shared_queue, on_native<traits.push == role::any && traits.pop == role::any>,
                 subject_names);

TYPED_TEST(shared_queue, keeps_its_order_across_handles) {
  unsigned seed = 100;
  for (const queue_options& options : small_options()) {
    compare_with_model<TypeParam>(options, 5, seed++);
    if (this->HasFatalFailure()) return;
  }
}

template <class Subject>
class unbounded_queue : public testing::Test {};
TYPED_TEST_SUITE(unbounded_queue, on_native<!traits.bounded>, subject_names);

TYPED_TEST(unbounded_queue, is_never_full_whatever_capacity_is_asked_for) {
  for (const std::size_t asked : {std::size_t{0}, std::size_t{3}, ~std::size_t{0}}) {
    typename TypeParam::queue queue(queue_options{.capacity_slots = asked});
    typename TypeParam::handle handle(queue);
    EXPECT_EQ(queue.capacity(), 0u);
    std::vector<test_item> items(200'000 / slowdown);
    for (test_item& item : items) ASSERT_EQ(queue.try_push(&item, handle), push_result::ok);
    EXPECT_EQ(drain(queue, handle).size(), items.size());
  }
}

template <class Subject>
class bounded_queue : public testing::Test {};
TYPED_TEST_SUITE(bounded_queue, on_native<traits.bounded>, subject_names);

template <class Subject>
class exact_queue : public testing::Test {};
TYPED_TEST_SUITE(exact_queue, on_native<traits.bounded && traits.exact_capacity>, subject_names);

TYPED_TEST(exact_queue, holds_exactly_its_capacity_in_every_lap) {
  for (const queue_options& options : small_options()) {
    SCOPED_TRACE(describe(options));
    typename TypeParam::queue queue(options);
    typename TypeParam::handle handle(queue);
    const std::size_t capacity = queue.capacity();
    ASSERT_EQ(capacity, options.capacity_slots);
    std::vector<test_item> items(capacity + 1);
    for (std::size_t lap = 0; lap < 2 * capacity + 9; ++lap) {
      for (std::size_t count = 0; count < capacity; ++count) {
        ASSERT_EQ(push(queue, &items[count], handle, true), push_result::ok);
      }
      ASSERT_EQ(queue.try_push(&items[capacity], handle), push_result::full);
      ASSERT_EQ(drain(queue, handle).size(), capacity);
      // One step, so that each lap begins in another slot.
      ASSERT_EQ(push(queue, &items[0], handle, true), push_result::ok);
      ASSERT_TRUE(pop(queue, handle, true));
    }
  }
}

TYPED_TEST(bounded_queue, has_its_default_capacity_when_none_is_asked_for) {
  typename TypeParam::queue queue(queue_options{});
  EXPECT_EQ(queue.capacity(), traits.default_capacity);
}

TYPED_TEST(bounded_queue, refuses_a_capacity_that_is_not_allowed) {
  const std::size_t enormous = ~std::size_t{0} / 2 + 1;
  for (const std::size_t asked :
       {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{6}, std::size_t{1000},
        traits.smallest_capacity, traits.largest_capacity, traits.largest_capacity + 1,
        traits.largest_capacity * 2, enormous, ~std::size_t{0}}) {
    SCOPED_TRACE(asked);
    const bool power_of_two = (asked & (asked - 1)) == 0;
    const bool allowed = asked >= traits.smallest_capacity && asked <= traits.largest_capacity &&
                         (power_of_two || !traits.power_of_two_capacity);
    const queue_options options{.capacity_slots = asked};
    if (allowed) {
      EXPECT_EQ(typename TypeParam::queue(options).capacity(), asked);
      continue;
    }
    try {
      typename TypeParam::queue queue(options);
      ADD_FAILURE() << "accepted, with capacity " << queue.capacity();
    } catch (const std::invalid_argument& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find(std::to_string(asked)), std::string::npos) << message;
      EXPECT_NE(message.find("from " + std::to_string(traits.smallest_capacity) + " to " +
                             std::to_string(traits.largest_capacity)),
                std::string::npos)
          << message;
    }
  }
}

}  // namespace
}  // namespace heddle::queue_test
