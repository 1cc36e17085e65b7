#include "stress.hpp"

namespace heddle::queue_test {
namespace {

template <class Subject>
class queue_with_thieves : public testing::Test {};
TYPED_TEST_SUITE(queue_with_thieves, on_all_platforms<only_owner_pops && traits.steal == role::any>,
                 subject_names);

/// The owner pops about as much as it pushes, so it and its thieves want the same item most of the
/// time.
TYPED_TEST(queue_with_thieves, gives_the_last_item_to_the_owner_or_to_one_thief) {
  for (const queue_options& options : small_options()) {
    const std::size_t each = scaled<TypeParam>(200'000, options);
    stress<TypeParam>({.options = options, .threads = 4, .items_each = each}, [&](auto& self) {
      if (!self.owner) return self.take_rest();
      for (std::size_t which = 0; which < each; ++which) {
        if (!self.push(which)) return;
        if (self.random() % 16 == 0) self.publish();
        for (std::size_t pops = self.random() % 4; pops > 1; --pops) self.take_one();
      }
      self.leave_rest();
    });
    if (this->HasFatalFailure()) return;
  }
}

template <class Subject>
class half_stealing_queue : public testing::Test {};
TYPED_TEST_SUITE(half_stealing_queue, on_all_platforms<traits.steals_half>, subject_names);

TYPED_TEST(half_stealing_queue, loses_nothing_while_owners_steal_from_each_other) {
  constexpr std::size_t owners = 5;
  for (const queue_options& options : small_options()) {
    SCOPED_TRACE(describe(options));
    const std::size_t each = scaled<TypeParam>(60'000, options);
    std::deque<typename TypeParam::queue> queues;
    for (std::size_t count = 0; count < owners; ++count) queues.emplace_back(options);
    run_state run;
    round_items items(owners, each);
    run_threads(owners, [&](std::size_t number) {
      // Items change owners by theft, so their order is not checked.
      actor<TypeParam> self(queues[number], items, run, items.total(), number, owners, false);
      std::deque<typename TypeParam::handle> handles;
      for (auto& queue : queues) handles.emplace_back(queue);
      const auto steal = [&] {
        const std::size_t victim = (number + 1 + self.random() % (owners - 1)) % owners;
        const std::size_t most = self.random() % 2 ? ~std::size_t{0} : 1 + self.random() % 3;
        const auto stolen = queues[victim].steal_half_into(self.queue, most, handles[victim]);
        if (stolen) self.took(stolen.item);
        return stolen.status == pop_status::item;
      };
      for (std::size_t which = 0; which < each; ++which) {
        if (!self.push(which)) return;
        // In turn, each leaves its work to be stolen, or works and steals although it has work.
        if ((which / 64 + number) % 2 == 0) continue;
        if (self.random() % 4 != 0) self.take_one();
        if (self.random() % 4 == 0) steal();
      }
      while (!self.all_taken()) {
        if (self.take_one() != pop_status::item && !steal() && !self.wait()) return;
      }
    });
    if (!run.failed()) items.check_all_taken(run);
    ASSERT_EQ(run.problem(), "");
  }
}

}  // namespace
}  // namespace heddle::queue_test
