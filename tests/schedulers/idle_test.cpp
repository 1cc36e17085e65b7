#include <gtest/gtest.h>

#include <heddle/base/platform.hpp>
#include <heddle/schedulers/idle.hpp>

namespace heddle {
namespace {

using protocol = idle_protocol<native>;

TEST(idle_protocol, wakes_nobody_while_nobody_sleeps) {
  protocol idle(2, 1);
  EXPECT_FALSE(idle.should_wake());
  EXPECT_FALSE(idle.wake_is_wanted());
}

TEST(idle_protocol, wakes_one_sleeper_and_no_second_while_the_first_searches) {
  protocol idle(2, 1);
  idle.announce_sleep(0, false);
  EXPECT_FALSE(idle.all_sleep());
  idle.announce_sleep(1, false);
  EXPECT_TRUE(idle.all_sleep());
  EXPECT_TRUE(idle.wake_is_wanted());
  EXPECT_TRUE(idle.should_wake());
  EXPECT_FALSE(idle.should_wake());
  // The woken one is the searcher now; when it finds work it was the last, and the next may be
  // woken.
  idle.end_sleep(0);
  EXPECT_TRUE(idle.stop_search());
  EXPECT_TRUE(idle.should_wake());
}

TEST(idle_protocol, lets_few_search_of_their_own_accord) {
  protocol idle(3, 2);
  EXPECT_TRUE(idle.start_search());
  EXPECT_TRUE(idle.start_search());
  EXPECT_FALSE(idle.start_search());
  EXPECT_FALSE(idle.stop_search());
  EXPECT_TRUE(idle.start_search());
}

TEST(idle_protocol, a_searcher_that_sleeps_no_longer_searches) {
  protocol idle(2, 1);
  EXPECT_TRUE(idle.start_search());
  idle.announce_sleep(0, true);
  EXPECT_TRUE(idle.should_wake());
}

TEST(idle_protocol, a_wake_up_without_receiver_can_be_sent_again) {
  protocol idle(2, 1);
  idle.announce_sleep(0, false);
  EXPECT_TRUE(idle.should_wake());
  idle.wake_failed();
  EXPECT_TRUE(idle.should_wake());
}

}  // namespace
}  // namespace heddle
