#include "http_date.hpp"

#include <atomic>
#include <cstdint>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <time.h>

namespace heddle::servers {
namespace {

std::string_view text_of(const http_date_text& date) { return {date.data(), date.size()}; }

TEST(http_date, formats_as_rfc_9110_says) {
  EXPECT_EQ(text_of(format_http_date(784111777)), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(text_of(format_http_date(0)), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(text_of(format_http_date(-1)), "Wed, 31 Dec 1969 23:59:59 GMT");
  EXPECT_EQ(text_of(format_http_date(951782400)), "Tue, 29 Feb 2000 00:00:00 GMT");
  EXPECT_EQ(text_of(format_http_date(253402300799)), "Fri, 31 Dec 9999 23:59:59 GMT");
}

TEST(http_date, agrees_with_the_c_library_on_every_day_of_this_century) {
  for (std::int64_t seconds = 946684800; seconds < 4102444800; seconds += 86400 - 61) {
    const time_t time = seconds;
    tm parts;
    gmtime_r(&time, &parts);
    char expected[40];
    strftime(expected, sizeof expected, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    ASSERT_EQ(text_of(format_http_date(seconds)), expected);
  }
}

std::atomic<std::int64_t> test_seconds;

std::int64_t test_clock() noexcept { return test_seconds.load(); }

TEST(http_date, follows_the_clock_forth_and_back) {
  http_date date(test_clock);
  for (const std::int64_t seconds : {0, 1, 1, 100, 99, 100, 784111777, 0}) {
    test_seconds = seconds;
    for (int i = 0; i < 2; ++i) ASSERT_EQ(date.now(), format_http_date(seconds));
  }
}

TEST(http_date, never_mixes_two_seconds) {
  // Two far seconds whose texts differ in each word.
  static constexpr std::int64_t far[] = {784111777, 253402300799};
  const http_date_text expected[] = {format_http_date(far[0]), format_http_date(far[1])};
  http_date date(
      []() noexcept { return far[test_seconds.fetch_add(1, std::memory_order_relaxed) / 7 % 2]; });
  std::vector<std::jthread> threads;
  std::atomic<int> mixed{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200'000; ++round) {
        const http_date_text text = date.now();
        if (text != expected[0] && text != expected[1]) ++mixed;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(mixed, 0);
}

}  // namespace
}  // namespace heddle::servers
