#include <memory>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include <heddle/base/nearest.hpp>
#include <heddle/base/result.hpp>

namespace heddle {
namespace {

TEST(result, holds_a_value) {
  const result<int> answer = 42;
  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, 42);
  EXPECT_EQ(answer.value_or(1), 42);
  EXPECT_FALSE(answer.error());
}

TEST(result, holds_an_error) {
  const result<int> answer = std::errc::timed_out;
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error(), std::errc::timed_out);
  EXPECT_EQ(answer.value_or(7), 7);
  EXPECT_THROW(static_cast<void>(answer.value()), std::system_error);
}

TEST(result, gives_up_a_value_that_can_only_be_moved) {
  result<std::unique_ptr<int>> answer = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = std::move(answer).value();
  EXPECT_EQ(*taken, 5);
}

TEST(result, of_nothing_tells_success_from_error) {
  EXPECT_TRUE(result<void>());
  EXPECT_NO_THROW(result<void>().value());
  const result<void> failed = std::errc::bad_file_descriptor;
  EXPECT_FALSE(failed);
  EXPECT_THROW(failed.value(), std::system_error);
}

TEST(nearest_names, come_nearest_first_and_three_at_most) {
  const std::vector<std::string_view> names{"locking", "moodycamel", "bounded-mpmc",
                                            "bounded-spmc"};
  EXPECT_EQ(nearest_names("lockin", names), "locking");
  EXPECT_EQ(nearest_names("bounded-spnc", names), "bounded-spmc, bounded-mpmc");
  EXPECT_EQ(nearest_names("zzzzzzzzzzzzzzzzzzz", names), "");
}

}  // namespace
}  // namespace heddle
