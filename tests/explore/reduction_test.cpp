#include <mutex>

#include <explore/litmus.hpp>
#include <explore/litmus_seq_cst.hpp>
#include <gtest/gtest.h>

namespace heddle::explore {
namespace {

using namespace litmus;

outcome lock_and_updates() {
  model::mutex lock;
  variable x{0}, y{0};
  outcome seen(2);
  {
    thread one([&] {
      std::lock_guard guard(lock);
      seen[0] = x.fetch_add(1, acq_rel);
      y.store(1, relaxed);
    });
    thread other([&] {
      y.store(2, release);
      std::lock_guard guard(lock);
      seen[1] = x.fetch_add(2, acq_rel);
    });
  }
  seen.push_back(y.load(relaxed));
  return seen;
}

outcome two_exchanges() {
  variable x{0};
  outcome seen(2);
  const auto exchange = [&](int number) {
    int expected = 0;
    if (!x.compare_exchange_strong(expected, number, acq_rel, relaxed)) {
      x.compare_exchange_strong(expected, number + 10, acq_rel, relaxed);
    }
    seen[static_cast<std::size_t>(number - 1)] = expected;
  };
  {
    thread one([&] { exchange(1); });
    thread other([&] { exchange(2); });
  }
  seen.push_back(x.load(relaxed));
  return seen;
}

struct example {
  const char* name;
  test program;
};

const example examples[] = {
    {"message_passing", [] { return message_passing(release, acquire); }},
    {"message_passing_relaxed", [] { return message_passing(relaxed, relaxed); }},
    {"store_buffering", [] { return store_buffering(relaxed, relaxed); }},
    {"store_buffering_seq_cst", [] { return store_buffering(seq_cst, seq_cst); }},
    {"store_buffering_fences", [] { return store_buffering(relaxed, relaxed, seq_cst); }},
    {"independent_reads", [] { return independent_reads(release, acquire); }},
    {"two_plus_two_writes", [] { return two_plus_two_writes(relaxed); }},
    {"two_plus_two_writes_seq_cst", [] { return two_plus_two_writes(seq_cst); }},
    {"read_read", read_read},
    {"release_sequence_by_update", [] { return release_sequence_by_update(relaxed); }},
    {"write_to_read", [] { return write_to_read(release, acquire); }},
    {"write_against_read", [] { return write_against_read(relaxed, seq_cst); }},
    {"seq_cst_and_release_sequence", seq_cst_and_release_sequence},
    {"two_updates", two_updates},
    {"update_and_store", update_and_store},
    {"lock_and_updates", lock_and_updates},
    {"two_exchanges", two_exchanges},
};

class reduction : public testing::TestWithParam<std::tuple<memory, example>> {};

TEST_P(reduction, leaves_all_outcomes) {
  const auto& [model, one] = GetParam();
  const options whole{.model = model, .most_executions = 20'000'000, .reduction = false};
  options reduced = whole;
  reduced.reduction = true;
  report whole_done, reduced_done;
  const outcomes expected = outcomes_of(one.program, whole, &whole_done);
  EXPECT_EQ(outcomes_of(one.program, reduced, &reduced_done), expected);
  EXPECT_TRUE(whole_done.complete);
  EXPECT_TRUE(reduced_done.complete);
  EXPECT_LE(reduced_done.executions, whole_done.executions);
  std::printf("%s: %s\n  reduced to %s\n", one.name, summary(whole_done).c_str(),
              summary(reduced_done).c_str());
}

INSTANTIATE_TEST_SUITE_P(explore, reduction,
                         testing::Combine(testing::Values(memory::sc, memory::c11),
                                          testing::ValuesIn(examples)),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param) == memory::sc ? "sc_"
                                                                                   : "c11_") +
                                  std::get<1>(one.param).name;
                         });

}  // namespace
}  // namespace heddle::explore
