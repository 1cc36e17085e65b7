#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <heddle/pollers/inflow.hpp>

namespace heddle {
namespace {

bool keep(inflow& flow, std::string_view bytes) {
  return flow.keep(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
}

/// What a read of so many bytes finds; "-" when there is nothing to tell.
std::string taken(inflow& flow, std::size_t bytes) {
  std::string buffer(bytes, '\0');
  const std::optional<int> answer = flow.take(buffer.data(), bytes);
  if (!answer) return "-";
  if (*answer <= 0) return "end " + std::to_string(*answer);
  buffer.resize(static_cast<std::size_t>(*answer));
  return buffer;
}

TEST(inflow, gives_bytes_in_order_and_in_the_sizes_that_are_asked_for) {
  inflow flow;
  EXPECT_FALSE(flow.has_unread());
  EXPECT_EQ(taken(flow, 8), "-");
  EXPECT_TRUE(keep(flow, "abcdef"));
  EXPECT_TRUE(flow.has_unread());
  EXPECT_EQ(taken(flow, 4), "abcd");
  EXPECT_TRUE(keep(flow, "gh"));
  EXPECT_EQ(taken(flow, 100), "efgh");
  EXPECT_FALSE(flow.has_unread());
  EXPECT_EQ(taken(flow, 8), "-");
}

TEST(inflow, tells_the_end_once_and_after_the_bytes) {
  inflow flow;
  EXPECT_TRUE(keep(flow, "last"));
  flow.keep_end(-104);
  EXPECT_EQ(taken(flow, 8), "last");
  EXPECT_TRUE(flow.has_unread());
  EXPECT_EQ(taken(flow, 8), "end -104");
  EXPECT_FALSE(flow.has_unread());
  EXPECT_EQ(taken(flow, 8), "-");
  flow.keep_end(0);
  EXPECT_EQ(taken(flow, 8), "end 0");
}

TEST(inflow, says_when_bytes_pile_up) {
  inflow flow;
  const std::string some(4096, 'x');
  EXPECT_TRUE(keep(flow, some));
  EXPECT_TRUE(keep(flow, some));
  EXPECT_FALSE(keep(flow, "one more"));
  EXPECT_EQ(taken(flow, 4096), some);
  EXPECT_TRUE(keep(flow, "what was read counts no more"));
}

TEST(inflow, is_calm_after_reads_in_a_row_that_had_to_wait) {
  inflow flow;
  flow.count_read(true);
  EXPECT_FALSE(flow.is_calm());
  flow.count_read(false);
  flow.count_read(true);
  EXPECT_FALSE(flow.is_calm());
  flow.count_read(true);
  EXPECT_TRUE(flow.is_calm());
  flow.count_read(false);
  EXPECT_FALSE(flow.is_calm());
}

TEST(inflow, is_calm_again_long_after_it_was_given_up) {
  inflow flow;
  flow.give_up();
  for (int reads = 0; reads < 64; ++reads) {
    flow.count_read(true);
    flow.count_read(false);  // neither shortens nor lengthens what is left
  }
  flow.count_read(true);
  EXPECT_FALSE(flow.is_calm());
  flow.count_read(true);
  EXPECT_TRUE(flow.is_calm());
}

TEST(inflow, knows_nothing_of_an_earlier_file) {
  inflow flow;
  keep(flow, "old");
  flow.keep_end(0);
  flow.count_read(true);
  flow.count_read(true);
  flow.reset();
  EXPECT_FALSE(flow.is_armed());
  EXPECT_FALSE(flow.is_calm());
  EXPECT_EQ(taken(flow, 8), "-");
}

}  // namespace
}  // namespace heddle
