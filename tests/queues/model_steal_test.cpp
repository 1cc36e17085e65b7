#include "model.hpp"

namespace heddle::queue_test {
namespace {

template <class Subject>
class queue_with_thieves : public testing::Test {};
TYPED_TEST_SUITE(queue_with_thieves, on_native<only_owner_pops && traits.steal == role::any>,
                 subject_names);

/// Random operations of an owner and a thief, one at a time, on a queue and its model. Now and then
/// the owner's index goes down to, and up from, where the thief's is.
template <class Subject>
void compare_with_model(const queue_options& options, unsigned seed) {
  SCOPED_TRACE(describe(options) + ", seed " + std::to_string(seed));
  using queue_type = typename Subject::queue;
  static_assert(stealable<queue_type, test_item*>);
  static_assert(traits.every_item_stealable != publishing<queue_type>);
  queue_type queue(options);
  typename Subject::handle owner(queue);
  typename Subject::handle thief(queue);
  model expected(1);
  std::minstd_rand random(seed);
  constexpr std::size_t steps = 400'000 / slowdown;
  std::vector<test_item> items(steps);
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t size = expected.size();
    const unsigned pushes_of_8 = step / 500 % 3 + 2;
    if (random() % 8 < pushes_of_8) {
      const bool room = !traits.bounded || size < queue.capacity();
      const push_result result = push(queue, &items[step], owner, room);
      ASSERT_TRUE(room || result == push_result::full) << "step " << step;
      if (must_have_room(size) && room) {
        ASSERT_EQ(result, push_result::ok) << "step " << step;
      }
      if (result == push_result::ok) expected.push(&items[step], 0);
    } else if (random() % 2 == 0) {
      const auto popped = pop(queue, owner, size != 0);
      ASSERT_EQ(popped.status, size != 0 ? pop_status::item : pop_status::empty) << "step " << step;
      if (popped) {
        ASSERT_TRUE(expected.pop(popped.item)) << "out of order in step " << step;
      }
    } else {
      bool there = size != 0;
      if constexpr (publishing<queue_type>) {
        if (random() % 2 == 0) queue.publish_hidden(owner);
        there = queue.maybe_stealable();
        ASSERT_TRUE(size != 0 || !there) << "step " << step;
      }
      const auto stolen = queue.try_steal(thief);
      ASSERT_EQ(stolen.status, there ? pop_status::item : pop_status::empty) << "step " << step;
      if (stolen) {
        ASSERT_TRUE(expected.steal(stolen.item)) << "out of order in step " << step;
      }
    }
    ASSERT_EQ(queue.maybe_nonempty(), expected.size() != 0) << "step " << step;
    ASSERT_LE(queue.approximate_size(), traits.bounded ? queue.capacity() : steps);
  }
  for (test_item* item : drain(queue, owner)) ASSERT_TRUE(expected.pop(item));
  ASSERT_EQ(expected.size(), 0u);
}

TYPED_TEST(queue_with_thieves, agrees_with_a_deque_under_random_operations) {
  unsigned seed = 1;
  for (const queue_options& options : small_options()) {
    compare_with_model<TypeParam>(options, seed++);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(queue_with_thieves, has_nothing_to_steal_when_fresh_nor_when_its_owner_took_all) {
  for (const queue_options& options : small_options()) {
    SCOPED_TRACE(describe(options));
    typename TypeParam::queue queue(options);
    typename TypeParam::handle handle(queue);
    EXPECT_EQ(queue.try_steal(handle).status, pop_status::empty);
    test_item item;
    EXPECT_EQ(push(queue, &item, handle, true), push_result::ok);
    EXPECT_EQ(pop(queue, handle, true).item, &item);
    EXPECT_EQ(queue.try_steal(handle).status, pop_status::empty);
    EXPECT_EQ(queue.try_pop(handle).status, pop_status::empty);
    EXPECT_EQ(queue.try_steal(handle).status, pop_status::empty);
    EXPECT_FALSE(queue.maybe_nonempty());
  }
}

template <class Subject>
class hiding_queue : public testing::Test {};
TYPED_TEST_SUITE(hiding_queue, on_native<!traits.every_item_stealable>, subject_names);

TYPED_TEST(hiding_queue, gives_thieves_all_that_its_owner_has_not_popped) {
  for (const queue_options& options : small_options()) {
    SCOPED_TRACE(describe(options));
    typename TypeParam::queue queue(options);
    typename TypeParam::handle handle(queue);
    std::vector<test_item> items(options.capacity_slots);
    std::size_t held = 0;
    while (held < items.size() && queue.try_push(&items[held], handle) == push_result::ok) ++held;
    ASSERT_GT(held, 0u);
    ASSERT_TRUE(pop(queue, handle, true));
    --held;
    std::size_t stolen = 0;
    while (queue.maybe_nonempty()) {
      ASSERT_TRUE(queue.publish_hidden(handle)) << stolen << " of " << held;
      ASSERT_TRUE(queue.maybe_stealable());
      while (queue.try_steal(handle)) ++stolen;
    }
    EXPECT_EQ(stolen, held);
  }
}

template <class Subject>
class half_stealing_queue : public testing::Test {};
TYPED_TEST_SUITE(half_stealing_queue, on_native<traits.steals_half>, subject_names);

TYPED_TEST(half_stealing_queue, steals_the_oldest_half_as_far_as_asked_and_as_there_is_room) {
  using queue_type = typename TypeParam::queue;
  static_assert(half_stealing<queue_type, test_item*>);
  for (const queue_options& options : small_options()) {
    const std::size_t step = std::max<std::size_t>(1, options.capacity_slots / 8);
    queue_type victim(options);
    queue_type thief(options);
    typename TypeParam::handle victim_handle(victim);
    typename TypeParam::handle thief_handle(thief);
    std::vector<test_item> items(2 * options.capacity_slots);
    for (std::size_t size = 0; size <= options.capacity_slots; size += step) {
      for (std::size_t thief_size = 0; thief_size <= options.capacity_slots; thief_size += step) {
        for (const std::size_t most : {std::size_t{1}, std::size_t{2}, size + 1, ~std::size_t{0}}) {
          SCOPED_TRACE(describe(options) + ": " + std::to_string(size) + " items, thief has " +
                       std::to_string(thief_size) + ", at most " + std::to_string(most));
          for (std::size_t count = 0; count < size; ++count) {
            ASSERT_EQ(victim.try_push(&items[count], victim_handle), push_result::ok);
          }
          for (std::size_t count = 0; count < thief_size; ++count) {
            ASSERT_EQ(thief.try_push(&items[options.capacity_slots + count], thief_handle),
                      push_result::ok);
          }
          const auto stolen = victim.steal_half_into(thief, most, victim_handle);
          ASSERT_EQ(stolen.status, size ? pop_status::item : pop_status::empty);
          const std::size_t count =
              std::min({size - size / 2, most, options.capacity_slots - thief_size + 1});

          std::vector<test_item*> taken = drain(thief, thief_handle);
          ASSERT_EQ(taken.size(), thief_size + (count ? count - 1 : 0));
          taken.erase(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(thief_size));
          if (stolen) taken.push_back(stolen.item);
          std::sort(taken.begin(), taken.end());
          for (std::size_t at = 0; at < count; ++at) ASSERT_EQ(taken[at], &items[at]);

          const std::vector<test_item*> left = drain(victim, victim_handle);
          ASSERT_EQ(left.size(), size - count);
          for (std::size_t at = count; at < size; ++at) ASSERT_EQ(left[at - count], &items[at]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace heddle::queue_test
