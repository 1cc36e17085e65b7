#include <explore/litmus.hpp>
#include <explore/litmus_seq_cst.hpp>
#include <gtest/gtest.h>

namespace heddle::explore::litmus {
namespace {

/// All outcomes, for which everything must have been explored.
outcomes all(const test& program) {
  report done;
  const outcomes seen = outcomes_of(program, {}, &done);
  EXPECT_TRUE(done.complete);
  EXPECT_EQ(done.cut, 0u);
  EXPECT_FALSE(done.found) << done.found->what << "\n" << done.found->trace;
  return seen;
}

const outcomes both_bits{{0, 0}, {0, 1}, {1, 0}, {1, 1}};

outcomes without(outcomes from, const outcome& missing) {
  EXPECT_EQ(from.erase(missing), 1u);
  return from;
}

outcomes all_bits(unsigned bits) {
  outcomes made;
  for (unsigned word = 0; word < 1u << bits; ++word) {
    outcome one;
    for (unsigned bit = 0; bit < bits; ++bit) one.push_back(word >> bit & 1);
    made.insert(one);
  }
  return made;
}

TEST(message_passing, with_release_and_acquire_shows_the_data) {
  EXPECT_EQ(all([] { return message_passing(release, acquire); }), without(both_bits, {1, 0}));
}

TEST(message_passing, needs_both_release_and_acquire) {
  EXPECT_EQ(all([] { return message_passing(relaxed, relaxed); }), both_bits);
  EXPECT_EQ(all([] { return message_passing(release, relaxed); }), both_bits);
  EXPECT_EQ(all([] { return message_passing(relaxed, acquire); }), both_bits);
}

TEST(message_passing, with_two_fences_shows_the_data) {
  EXPECT_EQ(all([] { return message_passing_by_fences(release, acquire); }),
            without(both_bits, {1, 0}));
  EXPECT_EQ(all([] { return message_passing_by_fences(release, relaxed); }), both_bits);
  EXPECT_EQ(all([] { return message_passing_by_fences(relaxed, acquire); }), both_bits);
}

TEST(store_buffering, misses_both_stores_without_seq_cst) {
  EXPECT_EQ(all([] { return store_buffering(relaxed, relaxed); }), both_bits);
  EXPECT_EQ(all([] { return store_buffering(release, acquire); }), both_bits);
  EXPECT_EQ(all([] { return store_buffering(seq_cst, acquire); }), both_bits);
  EXPECT_EQ(all([] { return store_buffering(relaxed, relaxed, acq_rel); }), both_bits);
}

TEST(store_buffering, sees_one_of_the_stores_with_seq_cst) {
  EXPECT_EQ(all([] { return store_buffering(seq_cst, seq_cst); }), without(both_bits, {0, 0}));
  EXPECT_EQ(all([] { return store_buffering(relaxed, relaxed, seq_cst); }),
            without(both_bits, {0, 0}));
}

TEST(load_buffering, is_not_modelled) {
  EXPECT_EQ(all([] { return load_buffering(); }), without(both_bits, {1, 1}));
}

TEST(independent_reads, may_disagree_without_seq_cst) {
  EXPECT_EQ(all([] { return independent_reads(release, acquire); }), all_bits(4));
  EXPECT_EQ(all([] { return independent_reads(seq_cst, acquire); }), all_bits(4));
}

TEST(independent_reads, agree_with_seq_cst) {
  const outcomes agreeing = without(all_bits(4), {1, 0, 1, 0});
  EXPECT_EQ(all([] { return independent_reads(seq_cst, seq_cst); }), agreeing);
  EXPECT_EQ(all([] { return independent_reads(relaxed, relaxed, seq_cst); }), agreeing);
}

TEST(two_plus_two_writes, may_leave_the_first_write_of_each) {
  const outcomes four{{1, 1}, {1, 2}, {2, 1}, {2, 2}};
  EXPECT_EQ(all([] { return two_plus_two_writes(relaxed); }), four);
  EXPECT_EQ(all([] { return two_plus_two_writes(release); }), four);
  EXPECT_EQ(all([] { return two_plus_two_writes(seq_cst); }), without(four, {1, 1}));
}

TEST(coherence, keeps_the_order_of_reads_and_writes_of_one_variable) {
  EXPECT_EQ(all(read_read), (outcomes{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}));
  EXPECT_EQ(all(read_write), (outcomes{{0, 1}, {0, 2}, {1, 2}}));
  EXPECT_EQ(all(write_read), (outcomes{{1, 1}, {2, 1}, {2, 2}}));
}

TEST(release_sequence, goes_on_through_an_update) {
  EXPECT_EQ(all([] { return release_sequence_by_update(relaxed); }),
            (outcomes{{0, 0}, {0, 1}, {1, 1}, {2, 0}, {2, 1}, {3, 1}}));
}

TEST(release_sequence, ends_at_a_store_of_the_same_thread) {
  EXPECT_EQ(all(release_sequence_by_store), (outcomes{{0, 0}, {0, 1}, {1, 1}, {2, 0}, {2, 1}}));
}

TEST(updates, are_atomic) {
  EXPECT_EQ(all(two_updates), (outcomes{{0, 1, 2}, {1, 0, 2}}));
  // The update that reads 0 stands right behind it, so the store comes last.
  EXPECT_EQ(all(update_and_store), (outcomes{{0, 1}, {1, 11}}));
}

TEST(seq_cst, has_the_order_of_cxx20_beside_a_release_sequence) {
  EXPECT_TRUE(all(seq_cst_and_release_sequence).contains({1, 3, 0}));
}

TEST(seq_cst, orders_no_relaxed_operation) {
  EXPECT_EQ(all(message_passing_beside_seq_cst), both_bits);
}

TEST(write_to_read, is_passed_on_by_release_and_acquire) {
  EXPECT_EQ(all([] { return write_to_read(release, acquire); }), without(all_bits(3), {1, 1, 0}));
  EXPECT_EQ(all([] { return write_to_read(relaxed, relaxed); }), all_bits(3));
}

TEST(write_against_read, needs_seq_cst) {
  const outcomes four{{1, 0}, {1, 1}, {2, 0}, {2, 1}};
  EXPECT_EQ(all([] { return write_against_read(relaxed); }), four);
  EXPECT_EQ(all([] { return write_against_read(release); }), four);
  EXPECT_EQ(all([] { return write_against_read(seq_cst); }), without(four, {2, 0}));
  EXPECT_EQ(all([] { return write_against_read(relaxed, seq_cst); }), without(four, {2, 0}));
}

}  // namespace
}  // namespace heddle::explore::litmus
