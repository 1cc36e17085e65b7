#include <history/checker_test.hpp>

namespace heddle::history {
namespace {

TEST(linearizability, accepts_a_fifo_used_by_one_thread) {
  EXPECT_TRUE(right({}, fifo));
  EXPECT_TRUE(
      right({empty(0, 1), push(1, 2, 3), push(2, 4, 5), pop(1, 6, 7), pop(2, 8, 9), empty(10, 11)},
            fifo));
}

TEST(linearizability, lets_overlapping_calls_happen_in_any_order) {
  EXPECT_TRUE(right({push(1, 0, 5), push(2, 0, 5), pop(2, 6, 7), pop(1, 8, 9)}, fifo));
  EXPECT_TRUE(right({push(1, 0, 1), push(2, 2, 3), pop(2, 4, 7), pop(1, 4, 7)}, fifo));
  EXPECT_TRUE(right({push(1, 0, 5), empty(1, 2), pop(1, 3, 4)}, fifo));
  EXPECT_TRUE(right({push(1, 0, 4), empty(4, 5)}, fifo)) << "equal times prove nothing";
}

TEST(linearizability, refuses_reordered_items) {
  EXPECT_FALSE(right({push(1, 0, 1), push(2, 2, 3), pop(2, 4, 5), pop(1, 6, 7)}, fifo));
  EXPECT_FALSE(right({push(1, 0, 1, 0), push(2, 2, 3, 1), pop(2, 4, 5)}, fifo))
      << "the first item was lost";
}

TEST(linearizability, refuses_duplicated_lost_and_invented_items) {
  EXPECT_FALSE(right({push(1, 0, 1), pop(1, 2, 5), pop(1, 2, 5)}, fifo)) << "duplicate";
  EXPECT_FALSE(right({push(1, 0, 1), empty(2, 3)}, fifo)) << "lost";
  EXPECT_FALSE(right({push(1, 0, 1), pop(2, 2, 3)}, fifo)) << "never pushed";
  EXPECT_FALSE(right({pop(1, 0, 1), push(1, 2, 3)}, fifo)) << "before its push";
  EXPECT_TRUE(right({pop(1, 0, 2), push(1, 2, 3)}, fifo)) << "just in time";
}

TEST(linearizability, refuses_empty_while_items_are_inside) {
  // Always one of the items is inside, though none of them all the time.
  const recording chain{push(1, 0, 1, 0), push(2, 3, 4, 0), pop(1, 5, 6, 0), push(3, 7, 8, 0),
                        pop(2, 9, 10, 0)};
  recording calls = chain;
  calls.push_back(empty(2, 11, 1));
  EXPECT_FALSE(right(calls, fifo));
  calls.back() = empty(1, 11, 1);
  EXPECT_TRUE(right(calls, fifo)) << "it may have come before the first push";
  calls = chain;
  calls[2] = pop(1, 4, 6, 0);
  calls.push_back(empty(2, 11, 1));
  EXPECT_TRUE(right(calls, fifo)) << "the first may have been taken before the second came";
}

TEST(linearizability, believes_a_false_empty_only_where_it_is_allowed) {
  const recording overlapped{push(1, 0, 1), empty(2, 4), push(2, 3, 5, 1)};
  const recording alone{push(1, 0, 1), empty(2, 4), push(2, 5, 6, 1)};
  EXPECT_FALSE(right(overlapped, {.empty = truth::strict}));
  EXPECT_TRUE(right(overlapped, {.empty = truth::strict_when_quiescent}));
  EXPECT_FALSE(right(alone, {.empty = truth::strict_when_quiescent}));
  EXPECT_TRUE(right(alone, {.empty = truth::spurious}));
  EXPECT_FALSE(check_large(alone, {.empty = truth::strict_when_quiescent}));
  EXPECT_FALSE(check_large(overlapped, {.empty = truth::strict}));
}

TEST(linearizability, knows_when_a_bounded_queue_is_full) {
  EXPECT_TRUE(right({push(1, 0, 1), push(2, 2, 3), full(4, 5), pop(1, 6, 7)}, fifo_of_2));
  EXPECT_TRUE(right({push(1, 0, 1), push(2, 2, 6), full(4, 5)}, fifo_of_2));
  for (const recording& wrong :
       {recording{push(1, 0, 1), full(2, 3)},
        recording{push(1, 0, 1), push(2, 2, 3), push(3, 4, 5)},
        recording{push(1, 0, 1), push(2, 2, 3), pop(1, 4, 5), full(6, 7)}}) {
    EXPECT_FALSE(right(wrong, fifo_of_2));
    EXPECT_FALSE(check_large(wrong, fifo_of_2));
  }
  const recording overlapped{push(1, 0, 1), full(2, 4), pop(1, 3, 5)};
  const recording alone{push(1, 0, 1), full(2, 3), pop(1, 4, 5)};
  specification promised = fifo_of_2;
  promised.full = truth::strict_when_quiescent;
  EXPECT_TRUE(right(overlapped, promised));
  EXPECT_FALSE(right(alone, promised));
  promised.full = truth::spurious;
  EXPECT_TRUE(right(alone, promised));
  EXPECT_FALSE(right(alone, fifo)) << "an unbounded queue is never full";
  promised = fifo_of_2;
  promised.exact_capacity = false;
  EXPECT_TRUE(right(alone, promised)) << "its only block may be in use";
  EXPECT_FALSE(right({full(0, 1)}, promised)) << "but an empty queue takes an item";
  EXPECT_FALSE(check_large({full(0, 1)}, promised));
}

TEST(linearizability, takes_the_youngest_for_the_owner_of_a_deque_and_the_oldest_for_a_thief) {
  const recording pushes{push(1, 0, 1), push(2, 2, 3), push(3, 4, 5)};
  const auto after = [&pushes](std::initializer_list<operation> more) {
    recording calls = pushes;
    calls.insert(calls.end(), more);
    return calls;
  };
  EXPECT_TRUE(right(after({pop(3, 6, 7), steal(1, 8, 9), pop(2, 10, 11), empty(12, 13)}), deque));
  EXPECT_TRUE(right(after({steal(1, 6, 9), steal(2, 6, 9), pop(3, 6, 9)}), deque));
  EXPECT_FALSE(right(after({pop(1, 6, 7)}), deque)) << "the owner took the oldest";
  EXPECT_FALSE(right(after({steal(3, 6, 7)}), deque)) << "a thief took the youngest";
  EXPECT_FALSE(right(after({steal(1, 6, 7), steal(3, 8, 9)}), deque)) << "a thief skipped one";
  EXPECT_FALSE(right(after({pop(3, 6, 7), pop(1, 8, 9)}), deque)) << "the owner skipped one";
  EXPECT_FALSE(right(after({steal(1, 6, 9), pop(1, 6, 9)}), deque)) << "both took the same";
}

TEST(linearizability, lets_an_owner_hide_items_from_thieves_where_it_may) {
  const operation misses = made(call::steal, outcome::empty, 0, 2, 3, 1);
  EXPECT_FALSE(right({push(1, 0, 1), misses}, relaxed(0)));
  specification hides = relaxed(0);
  hides.every_item_stealable = false;
  EXPECT_TRUE(right({push(1, 0, 1), misses}, hides));
  EXPECT_FALSE(right({push(1, 0, 1), empty(2, 3)}, hides)) << "the owner finds all";
}

TEST(linearizability, orders_only_the_items_of_one_producer_where_no_more_is_promised) {
  const recording pushes{push(1, 0, 1, 0), push(2, 2, 3, 1), push(3, 4, 5, 0)};
  recording calls = pushes;
  calls.insert(calls.end(), {pop(2, 6, 7), pop(1, 8, 9), pop(3, 10, 11)});
  EXPECT_TRUE(right(calls, per_producer));
  EXPECT_FALSE(right(calls, fifo));
  calls = pushes;
  calls.insert(calls.end(), {pop(3, 6, 7), pop(1, 8, 9)});
  EXPECT_FALSE(right(calls, per_producer));
  EXPECT_FALSE(check_large(calls, per_producer));
}

TEST(linearizability, allows_as_much_relaxation_as_was_promised_and_no_more) {
  const recording calls{push(1, 0, 1), push(2, 2, 3), push(3, 4, 5), pop(3, 6, 7)};
  EXPECT_TRUE(right(calls, relaxed(3)));
  EXPECT_FALSE(right(calls, relaxed(2)));
  EXPECT_FALSE(check_large(calls, relaxed(2)));
  EXPECT_TRUE(right(calls, relaxed(0))) << "any item";
  EXPECT_FALSE(right({push(1, 0, 1), pop(2, 2, 3)}, relaxed(0))) << "but not one never pushed";
}

TEST(linearizability, learns_nothing_from_contended_calls) {
  EXPECT_TRUE(right({push(1, 0, 1), contended(2, 3), pop(1, 4, 5), contended(6, 7)}, fifo));
  EXPECT_FALSE(right({push(1, 0, 1), contended(2, 3), empty(4, 5)}, fifo));
}

TEST(linearizability, refuses_a_look_that_missed_a_completed_push) {
  EXPECT_FALSE(check({push(1, 0, 1), look(outcome::empty, 2, 3, 1)}, fifo));
  EXPECT_FALSE(check({push(1, 0, 1), look(outcome::empty, 2, 3, 1), pop(1, 4, 5)}, fifo));
  EXPECT_TRUE(check({push(1, 0, 1), look(outcome::empty, 2, 4, 1), pop(1, 3, 5)}, fifo));
  EXPECT_TRUE(check({push(1, 0, 2), look(outcome::empty, 1, 3, 1)}, fifo));
  EXPECT_TRUE(check({look(outcome::nonempty, 0, 1)}, fifo)) << "it proves nothing";
}

TEST(linearizability, refuses_histories_that_it_cannot_check) {
  EXPECT_THROW(check(recording(65, empty(0, 1)), fifo), std::invalid_argument);
  EXPECT_THROW(check_large({push(1, 0, 1), push(1, 2, 3)}, fifo), std::invalid_argument);
}

TEST(linearizability, shows_the_history_in_its_complaint) {
  const verdict found = check({push(70, 0, 1), empty(2, 3, 1)}, fifo);
  EXPECT_NE(found.why.find("thread 0 from 0 to 1: push 1 -> ok"), std::string::npos) << found.why;
  EXPECT_NE(found.why.find("thread 1 from 2 to 3: pop -> empty"), std::string::npos) << found.why;
  EXPECT_NE(found.why.find("at most 1 "), std::string::npos) << found.why;
}

/// Whether the history is right when only the order is known that threads can know of.
bool causally_right(const recording& calls) {
  return check(calls, fifo, causal_order(calls)).holds;
}

TEST(causal_order, does_not_compare_the_times_of_threads_that_never_met) {
  const recording calls{push(1, 0, 1, 0), empty(2, 3, 1)};
  EXPECT_FALSE(check(calls, fifo));
  EXPECT_TRUE(causally_right(calls));
}

TEST(causal_order, keeps_the_order_of_each_thread) {
  EXPECT_FALSE(causally_right({push(1, 0, 1, 0), empty(2, 3, 0)}));
  EXPECT_FALSE(
      causally_right({push(1, 0, 1, 0), push(2, 2, 3, 0), pop(2, 4, 5, 1), empty(6, 7, 1)}))
      << "who took the second item knows of the first";
}

TEST(causal_order, follows_items_from_push_to_take) {
  // Thread 1 learns of item 1 from item 2, passes it on with item 3, and thread 2 still misses it.
  const recording calls{push(1, 0, 1, 0), push(2, 2, 3, 0), pop(3, 6, 7, 2), empty(8, 9, 2)};
  recording passed_on = calls;
  passed_on.push_back(pop(2, 3, 4, 1));
  passed_on.push_back(push(3, 5, 6, 1));
  const precedence order = causal_order(passed_on);
  EXPECT_TRUE(order[3] & bit(0));
  EXPECT_FALSE(order[2] & bit(0)) << "it knows only when its take has returned";
  EXPECT_FALSE(order[3] & bit(5)) << "that push may have gone on after its item was visible";
}

TEST(causal_order, knows_when_threads_began_and_ended) {
  recording calls{push(1, 0, 1, 0), empty(2, 3, 1)};
  calls[1].phase = 1;
  EXPECT_FALSE(causally_right(calls));
}

TEST(rank_errors, count_the_older_items_that_were_left_behind) {
  const recording calls{push(1, 0, 1), push(2, 2, 3), push(3, 4, 5), push(4, 6, 7),
                        pop(3, 8, 9),  pop(1, 9, 10), pop(4, 11, 12)};
  const rank_errors errors = large_history(calls).measure_rank_errors();
  EXPECT_EQ(errors.taken, 3u);
  EXPECT_EQ(errors.largest, 1u) << "item 1 may have been taken before item 3";
  EXPECT_DOUBLE_EQ(errors.mean, 2.0 / 3);
}

}  // namespace
}  // namespace heddle::history
