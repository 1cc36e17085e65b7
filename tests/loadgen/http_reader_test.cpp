#include "http_reader.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace heddle::load {
namespace {

using progress = http_reader::progress;

constexpr std::string_view bare = "HTTP/1.1 200 OK\nContent-Length: 12\n\nHello world!";
constexpr std::string_view full =
    "HTTP/1.1 200 OK\r\nServer: a very long name of a server\r\nDate: Tue, 01 Dec 2020 00:00:00 "
    "GMT\r\nX-A-Name-That-Is-Longer-Than-Any-Of-Ours: 1\r\ncontent-LENGTH:5  \r\n\r\n12345";

progress read_whole(http_reader& reader, std::string_view text) {
  std::string_view left = text;
  return reader.read(left);
}

TEST(http_reader, takes_lines_that_end_in_either_way) {
  http_reader reader;
  std::string_view left = bare;
  EXPECT_EQ(reader.read(left), progress::complete);
  EXPECT_TRUE(left.empty());
  EXPECT_EQ(reader.status(), 200u);
  EXPECT_EQ(reader.body_bytes(), 12u);
  EXPECT_TRUE(reader.keeps_open());
  left = full;
  EXPECT_EQ(reader.read(left), progress::complete);
  EXPECT_EQ(reader.body_bytes(), 5u);
}

TEST(http_reader, does_not_care_where_the_bytes_are_split) {
  const std::string text = std::string(full) + std::string(bare);
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    http_reader reader;
    unsigned complete = 0;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      std::string_view left = std::string_view(text).substr(at, piece);
      while (!left.empty()) {
        const progress result = reader.read(left);
        ASSERT_NE(result, progress::malformed) << piece << " at " << at;
        if (result != progress::complete) continue;
        EXPECT_EQ(reader.body_bytes(), ++complete == 1 ? 5u : 12u);
        EXPECT_EQ(reader.status(), 200u);
      }
    }
    EXPECT_EQ(complete, 2u) << piece;
    EXPECT_TRUE(reader.between_responses());
  }
}

TEST(http_reader, stops_at_the_end_of_a_response) {
  http_reader reader;
  const std::string text = std::string(bare) + "surplus";
  std::string_view left = text;
  EXPECT_EQ(reader.read(left), progress::complete);
  EXPECT_EQ(left, "surplus");
}

TEST(http_reader, knows_which_responses_end_the_connection) {
  const auto keeps = [](std::string_view text) {
    http_reader reader;
    EXPECT_EQ(read_whole(reader, text), progress::complete) << text;
    return reader.keeps_open();
  };
  EXPECT_TRUE(keeps("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_TRUE(keeps("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"));
}

TEST(http_reader, reads_a_body_without_length_to_the_end_of_the_connection) {
  http_reader reader;
  EXPECT_EQ(read_whole(reader, "HTTP/1.0 200 OK\r\n"), progress::more);
  EXPECT_FALSE(reader.complete_at_end());  // within the header
  EXPECT_EQ(read_whole(reader, "\r\nabc"), progress::more);
  EXPECT_EQ(read_whole(reader, "def"), progress::more);
  EXPECT_TRUE(reader.complete_at_end());
  EXPECT_EQ(reader.body_bytes(), 6u);
  EXPECT_FALSE(reader.keeps_open());
}

TEST(http_reader, is_not_complete_when_the_connection_ends_within_a_body) {
  http_reader reader;
  EXPECT_EQ(read_whole(reader, "HTTP/1.1 200 OK\nContent-Length: 12\n\nHello"), progress::more);
  EXPECT_FALSE(reader.complete_at_end());
  EXPECT_FALSE(reader.between_responses());
}

TEST(http_reader, expects_no_body_where_there_is_never_one) {
  http_reader reader;
  EXPECT_EQ(read_whole(reader, "HTTP/1.1 204 No Content\r\n\r\n"), progress::complete);
  EXPECT_EQ(reader.status(), 204u);
}

TEST(http_reader, refuses_what_is_not_a_response_it_understands) {
  for (const std::string_view text :
       {"SSH-2.0-OpenSSH\r\n", "HTTP/2.0 200 OK\r\n", "HTTP/1.1 2x0 OK\r\n", "HTTP/1.12 200 OK\r\n",
        "HTTP/1.1 2000 OK\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\n: x\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: twelve\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    http_reader reader;
    EXPECT_EQ(read_whole(reader, text), progress::malformed) << text;
  }
}

TEST(http_reader, bounds_the_header) {
  http_reader reader;
  const std::string line = "X: " + std::string(1000, 'x') + "\r\n";
  progress result = read_whole(reader, "HTTP/1.1 200 OK\r\n");
  for (unsigned count = 0; count < 66 && result == progress::more; ++count)
    result = read_whole(reader, line);
  EXPECT_EQ(result, progress::malformed);
}

}  // namespace
}  // namespace heddle::load
