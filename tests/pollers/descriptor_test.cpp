#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <heddle/pollers/operation.hpp>

namespace heddle {
namespace {

using side_begun = descriptor_side::begun;
using side_waited = descriptor_side::waited;

class direction_of_a_file : public testing::Test {
 protected:
  direction_of_a_file()
      : file_(descriptor::open(::open("/dev/null", O_RDWR | O_CLOEXEC))),
        side_(file_.target().side(direction::read)),
        generation_(file_.generation()),
        operation_(operation_kind::receive, file_, nullptr, 1) {}

  ~direction_of_a_file() override {
    for (const direction which : {direction::read, direction::write}) {
      if (closed_ && which == direction::read) continue;
      const auto found = file_.target().side(which).close(generation_);
      if (found.released) file_.target().release();
    }
  }

  file_reference file_;
  descriptor_side& side_;
  const std::uint16_t generation_;
  operation operation_;
  bool closed_ = false;
};

TEST_F(direction_of_a_file, is_tried_first) {
  EXPECT_EQ(side_.begin(generation_), side_begun::tried);
  EXPECT_EQ(side_.begin(generation_), side_begun::busy);
  EXPECT_FALSE(side_.end(true));
  EXPECT_EQ(side_.begin(generation_), side_begun::tried);
  EXPECT_FALSE(side_.end(false));
  EXPECT_EQ(side_.begin(generation_), side_begun::must_wait);
}

TEST_F(direction_of_a_file, gives_the_waiting_operation_to_the_first_event) {
  ASSERT_EQ(side_.begin(generation_), side_begun::tried);
  ASSERT_EQ(side_.wait(operation_, generation_, true), side_waited::published);
  EXPECT_EQ(side_.begin(generation_), side_begun::busy);
  EXPECT_EQ(side_.became_ready(generation_), &operation_);
  EXPECT_EQ(side_.became_ready(generation_), nullptr);
  // The second event is kept for the next operation.
  EXPECT_FALSE(side_.end(false));
  EXPECT_EQ(side_.begin(generation_), side_begun::tried);
  EXPECT_FALSE(side_.end(true));
}

TEST_F(direction_of_a_file, does_not_wait_when_the_event_came_first) {
  ASSERT_EQ(side_.begin(generation_), side_begun::tried);
  EXPECT_EQ(side_.became_ready(generation_), nullptr);
  EXPECT_EQ(side_.wait(operation_, generation_, true), side_waited::ready);
  EXPECT_FALSE(side_.end(true));
}

TEST_F(direction_of_a_file, lets_only_one_of_time_out_and_event_have_the_operation) {
  ASSERT_EQ(side_.begin(generation_), side_begun::tried);
  ASSERT_EQ(side_.wait(operation_, generation_, true), side_waited::published);
  EXPECT_TRUE(side_.claim(operation_, generation_));
  EXPECT_FALSE(side_.claim(operation_, generation_));
  EXPECT_EQ(side_.became_ready(generation_), nullptr);
  EXPECT_FALSE(side_.end(false));
}

TEST_F(direction_of_a_file, closed_under_an_operation_is_released_by_its_end) {
  ASSERT_EQ(side_.begin(generation_), side_begun::tried);
  const auto found = side_.close(generation_);
  closed_ = true;
  EXPECT_FALSE(found.released);
  EXPECT_TRUE(found.under_way);
  EXPECT_EQ(side_.begin(generation_), side_begun::closed);
  EXPECT_TRUE(side_.end(true));
  file_.target().release();
}

TEST_F(direction_of_a_file, closed_while_one_waits_hands_it_over) {
  ASSERT_EQ(side_.begin(generation_), side_begun::tried);
  ASSERT_EQ(side_.wait(operation_, generation_, true), side_waited::published);
  EXPECT_EQ(side_.close(generation_).waiting, &operation_);
  closed_ = true;
  EXPECT_TRUE(side_.end(false));
  file_.target().release();
}

TEST_F(direction_of_a_file, remembers_which_ring_holds_its_operation) {
  ASSERT_EQ(side_.begin_at(7, generation_), side_begun::tried);
  const auto found = side_.close(generation_);
  closed_ = true;
  EXPECT_TRUE(found.under_way);
  EXPECT_EQ(found.home, 7u);
  EXPECT_TRUE(side_.end(true));
  file_.target().release();
}

TEST_F(direction_of_a_file, keeps_its_operation_from_whoever_means_an_earlier_file) {
  const auto earlier = static_cast<std::uint16_t>(generation_ - 1);
  ASSERT_EQ(side_.begin(generation_), side_begun::tried);
  ASSERT_EQ(side_.wait(operation_, generation_, true), side_waited::published);
  EXPECT_EQ(side_.became_ready(earlier), nullptr);
  EXPECT_EQ(side_.claim_any(earlier), nullptr);
  EXPECT_EQ(side_.begin(earlier), side_begun::closed);
  EXPECT_EQ(side_.begin_at(0, earlier), side_begun::closed);
  operation late(operation_kind::receive, file_reference(file_.target(), earlier), nullptr, 1);
  EXPECT_EQ(side_.wait(late, earlier, false), side_waited::closed);
  EXPECT_FALSE(side_.claim(late, earlier));
  EXPECT_EQ(side_.became_ready(generation_), &operation_);
  EXPECT_FALSE(side_.end(false));
  // Nor does it become ready by an event of that file.
  EXPECT_EQ(side_.became_ready(earlier), nullptr);
  EXPECT_EQ(side_.begin(generation_), side_begun::must_wait);
}

TEST(descriptor, closes_the_file_at_the_second_release_and_refuses_who_knew_it) {
  const int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const file_reference file = descriptor::open(fd);
  descriptor& target = file.target();
  for (const direction which : {direction::read, direction::write}) {
    EXPECT_EQ(::fcntl(fd, F_GETFD) >= 0, true);
    ASSERT_TRUE(target.side(which).close(file.generation()).released);
    target.release();
  }
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
  const file_reference next = descriptor::open(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ASSERT_EQ(&next.target(), &target);
  EXPECT_EQ(target.side(direction::read).begin(file.generation()), side_begun::closed);
  EXPECT_EQ(target.side(direction::read).begin(next.generation()), side_begun::tried);
  EXPECT_FALSE(target.side(direction::read).end(true));
  for (const direction which : {direction::read, direction::write}) {
    ASSERT_TRUE(target.side(which).close(next.generation()).released);
    target.release();
  }
}

}  // namespace
}  // namespace heddle
