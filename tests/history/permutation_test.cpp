#include <deque>
#include <random>

#include <history/checker_test.hpp>

namespace heddle::history {
namespace {

// Random histories, compared with the definition: an order of all calls in which a sequential queue
// gives the same answers.

bool happens(const recording& order, const specification& promised) {
  std::deque<operation> held;
  for (const operation& next : order) {
    const bool bounded = promised.capacity_slots != 0;
    if (next.result == outcome::ok) {
      if (bounded && held.size() == promised.capacity_slots) return false;
      held.push_back(next);
    } else if (next.result == outcome::full) {
      if (!bounded || held.size() < promised.capacity_slots) return false;
    } else if (next.result == outcome::empty) {
      if (!held.empty()) return false;
    } else if (next.result == outcome::item) {
      const bool youngest =
          promised.order == queue_order::lifo_owner_fifo_thief && next.what == call::pop;
      std::vector<std::size_t> candidates;
      for (std::size_t at = 0; at < held.size(); ++at) {
        const bool first_of_producer =
            std::none_of(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(at),
                         [&](const operation& older) { return older.thread == held[at].thread; });
        const bool allowed = promised.order == queue_order::relaxed ? at < promised.relaxation
                             : promised.order == queue_order::fifo_per_producer
                                 ? first_of_producer
                                 : at == (youngest ? held.size() - 1 : 0);
        if (allowed && held[at].value == next.value) candidates.push_back(at);
      }
      if (candidates.empty()) return false;
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(candidates.front()));
    }
  }
  return true;
}

bool some_order_happens(const recording& calls, const specification& promised) {
  std::vector<std::size_t> order(calls.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  do {
    recording permuted;
    bool allowed = true;
    for (auto at = order.begin(); allowed && at != order.end(); ++at) {
      for (const operation& earlier : permuted) allowed &= calls[*at].responded >= earlier.invoked;
      permuted.push_back(calls[*at]);
    }
    if (allowed && happens(permuted, promised)) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

/// Calls with outcomes at random, of which few are right; or the calls of a sequential queue, made
/// to overlap, with one outcome changed now and then, of which many are.
class random_history {
 public:
  explicit random_history(unsigned seed) : random_(seed) {}

  recording next(const specification& promised) {
    const std::size_t count = 2 + random_() % 5;
    const std::uint64_t stretch = random_() % 8;
    recording calls;
    for (std::size_t made = 0; made < count; ++made) {
      const std::uint64_t from = random_() % 2 ? 2 * made + 4 : random_() % (2 * count) + 2;
      operation call{.value = made + 1, .thread = static_cast<std::uint32_t>(random_() % 2)};
      call.invoked = from - std::min(from, random_() % (stretch + 1));
      call.responded = from + 1 + random_() % (stretch + 1);
      choose_outcome(call, calls, promised);
      calls.push_back(call);
    }
    std::shuffle(calls.begin(), calls.end(), random_);
    return calls;
  }

 private:
  void choose_outcome(operation& call, const recording& earlier, const specification& promised) {
    const std::uint64_t pushes = 1 + earlier.size() / 2;
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2:
        return;
      case 3:
        call.result = promised.capacity_slots ? outcome::full : outcome::ok;
        return;
      case 4:
        call.what = random_() % 2 ? call::pop : call::steal;
        call.result = outcome::empty;
        return;
      default:
        call.what = random_() % 2 ? call::pop : call::steal;
        call.result = outcome::item;
        call.value = 1 + random_() % pushes;
    }
  }

  std::minstd_rand random_;
};

TEST(both_checks, agree_with_all_permutations_of_random_histories) {
  for (const specification& promised :
       {fifo, fifo_of_2, deque, per_producer, relaxed(1), relaxed(2)}) {
    random_history histories(1);
    std::size_t accepted = 0, refused = 0, missed = 0;
    for (int count = 0; count < 10'000; ++count) {
      const recording calls = histories.next(promised);
      const bool expected = some_order_happens(calls, promised);
      ASSERT_EQ(right(calls, promised), expected) << describe(calls);
      ++(expected ? accepted : refused);
      missed += !expected && check_large(calls, promised).holds;
    }
    EXPECT_GT(accepted, 500u);
    EXPECT_GT(refused, 500u);
    EXPECT_LT(missed, promised.order == queue_order::lifo_owner_fifo_thief ? refused : refused / 4)
        << "of " << refused << " wrong histories the check of large ones finds too few";
  }
}

}  // namespace
}  // namespace heddle::history
