#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "http_talk.hpp"

namespace heddle::servers {
namespace {

using namespace std::string_literals;

TEST(http_refusal, refuses_a_body_beyond_the_limit) {
  const auto post = [](std::size_t bytes) {
    return "POST /json HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(bytes) +
           "\r\n\r\n";
  };
  const std::size_t limit = http_session::body_limit_bytes;
  const std::string largest = post(limit) + std::string(limit, 'x');
  EXPECT_EQ(talk().say(largest + get).heard(), not_allowed + plaintext);
  EXPECT_EQ(talk().say(largest + get, 4096).heard(), not_allowed + plaintext);
  expect_answer(post(limit + 1), refusal_of("413 Content Too Large"), true);

  const std::string chunked =
      "POST /json HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string pieces;
  for (std::size_t left = limit; left > 0; left -= 4096)
    pieces += "1000\r\n" + std::string(4096, 'x') + "\r\n";
  EXPECT_EQ(talk().say(chunked + pieces + "0\r\n\r\n" + get, 4096).heard(),
            not_allowed + plaintext);
  talk beyond;
  beyond.say(chunked + pieces + "1\r\nx\r\n0\r\n\r\n" + get, 4096);
  EXPECT_EQ(beyond.heard(), refusal_of("413 Content Too Large"));
  EXPECT_TRUE(beyond.session().ignores_input());
}

TEST(http_refusal, refuses_a_header_beyond_the_limit_with_one_answer) {
  const std::string start = "GET /plaintext HTTP/1.1\r\nHost: x\r\n";
  const auto request_of = [&](std::size_t bytes) {
    return start + "A: " + std::string(bytes - start.size() - 7, 'a') + "\r\n\r\n";
  };
  const std::size_t limit = http_session::header_limit_bytes;
  std::string lines = start;
  while (lines.size() < (16u << 20)) lines += "A: 0123456789\r\n";
  const std::vector<std::string> too_long = {
      request_of(limit + 1),
      request_of(16 << 20),
      lines,
      std::string(16 << 20, 'A'),
      "GET /" + std::string(16 << 20, 'a'),
  };
  for (const std::size_t piece_bytes : {1, 15, 4096, 16 << 20}) {
    SCOPED_TRACE(piece_bytes);
    EXPECT_EQ(talk().say(request_of(limit) + get, piece_bytes).heard(), plaintext + plaintext);
    for (const std::string& request : too_long) {
      talk one;
      one.say(request, piece_bytes);
      EXPECT_EQ(one.heard(), refusal_of("431 Request Header Fields Too Large"));
      EXPECT_TRUE(one.session().wants_close());
      EXPECT_TRUE(one.session().ignores_input());
    }
  }
}

TEST(http_refusal, refuses_endless_parts_that_are_no_header) {
  const std::string chunked = "GET /json HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string empty_lines;
  std::string trailer = chunked + "0\r\n";
  while (empty_lines.size() < (1u << 20)) empty_lines += "\r\n";
  while (trailer.size() < (1u << 20)) trailer += "A: 0123456789\r\n";
  for (const std::string& request :
       {empty_lines, trailer, chunked + "1;a=" + std::string(1 << 20, 'b')}) {
    for (const std::size_t piece_bytes : {1, 15, 4096, 1 << 20}) {
      EXPECT_EQ(talk().say(request, piece_bytes).heard(),
                refusal_of("431 Request Header Fields Too Large"));
    }
  }
}

TEST(http_refusal, refuses_what_is_no_request_or_could_be_two) {
  const std::string start = "GET /json HTTP/1.1\r\nHost: x\r\n";
  const std::string chunked = start + "Transfer-Encoding: chunked\r\n\r\n";
  struct {
    std::string request, status;
  } const table[] = {
      {"nonsense\r\n\r\n", "400 Bad Request"},
      {"\0\1\2\3\r\n\r\n"s, "400 Bad Request"},
      {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"s, "400 Bad Request"},
      {" GET /json HTTP/1.1\r\nHost: x\r\n\r\n", "400 Bad Request"},
      {"GET  /json HTTP/1.1\r\nHost: x\r\n\r\n", "400 Bad Request"},
      {"GET /json  HTTP/1.1\r\nHost: x\r\n\r\n", "400 Bad Request"},
      {"GET /js\ton HTTP/1.1\r\nHost: x\r\n\r\n", "400 Bad Request"},
      {"GET /json\r\n\r\n", "400 Bad Request"},
      {"GET /json HTTP\r\nHost: x\r\n\r\n", "400 Bad Request"},
      {"GET /json HTTP/11\r\nHost: x\r\n\r\n", "400 Bad Request"},
      {"GET /json HTTP/1.10\r\nHost: x\r\n\r\n", "400 Bad Request"},
      {"GET /json http/1.1\r\nHost: x\r\n\r\n", "400 Bad Request"},
      {"GET /json HTTP/1.1 \r\nHost: x\r\n\r\n", "400 Bad Request"},
      {"GET /json HTTP/1.1\nHost: x\n\n\r\n\r\n", "400 Bad Request"},
      {"GET /json HTTP/2.0\r\nHost: x\r\n\r\n", "505 HTTP Version Not Supported"},
      {"GET /json HTTP/0.9\r\nHost: x\r\n\r\n", "505 HTTP Version Not Supported"},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 HTTP Version Not Supported"},
      {"GET /json HTTP/1.1\r\n\r\n", "400 Bad Request"},
      {start + "Host: y\r\n\r\n", "400 Bad Request"},
      {start + "no colon\r\n\r\n", "400 Bad Request"},
      {start + ": no name\r\n\r\n", "400 Bad Request"},
      {start + "Space : before colon\r\n\r\n", "400 Bad Request"},
      {start + "Null: a\0b\r\n\r\n"s, "400 Bad Request"},
      {start + "Return: a\rb\r\n\r\n", "400 Bad Request"},
      {start + "Feed: a\nb\r\n\r\n", "400 Bad Request"},
      {start + "Connection: a b\r\n\r\n", "400 Bad Request"},
      {start + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "400 Bad Request"},
      {start + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", "400 Bad Request"},
      {start + "Transfer-Encoding: gzip, chunked\r\nContent-Length: 5\r\n\r\n", "400 Bad Request"},
      {start + "Transfer-Encoding: chunked, chunked\r\nContent-Length: 5\r\n\r\n",
       "400 Bad Request"},
      {start + "Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n\r\n", "400 Bad Request"},
      {start + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "400 Bad Request"},
      {start + "Content-Length: 5, 6\r\n\r\n", "400 Bad Request"},
      {start + "Content-Length: -1\r\n\r\n", "400 Bad Request"},
      {start + "Content-Length: +1\r\n\r\n", "400 Bad Request"},
      {start + "Content-Length: 0x1\r\n\r\n", "400 Bad Request"},
      {start + "Content-Length: 1 1\r\n\r\n", "400 Bad Request"},
      {start + "Content-Length:\r\n\r\n", "400 Bad Request"},
      {start + "Content-Length: 18446744073709551616\r\n\r\n", "400 Bad Request"},
      {start + "Transfer-Encoding: gzip\r\n\r\n", "400 Bad Request"},
      {start + "Transfer-Encoding: chunked, gzip\r\n\r\n", "400 Bad Request"},
      {start + "Transfer-Encoding: identity\r\n\r\n", "400 Bad Request"},
      {start + "Transfer-Encoding: chunked x\r\n\r\n", "400 Bad Request"},
      {start + "Transfer-Encoding:\r\n\r\n", "400 Bad Request"},
      {start + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
       "400 Bad Request"},
      {start + "Transfer-Encoding: gzip, chunked\r\n\r\n", "501 Not Implemented"},
      {"GET /json HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "400 Bad Request"},
      {chunked + "x\r\n\r\n\r\n", "400 Bad Request"},
      {chunked + "-1\r\n\r\n\r\n", "400 Bad Request"},
      {chunked + "1\r\nabc\r\n0\r\n\r\n", "400 Bad Request"},
      {chunked + "10000000000000000\r\n", "400 Bad Request"},
      {chunked + "1 bad\r\nx\r\n", "400 Bad Request"},
      {chunked + "1\nx\r\n0\r\n\r\n", "400 Bad Request"},
      {chunked + "0\r\nContent-Length: 5\r\n\r\n", "400 Bad Request"},
  };
  for (const auto& row : table) {
    expect_answer(row.request, refusal_of(row.status), true);
    expect_answer(get + row.request, plaintext + refusal_of(row.status), true);
    EXPECT_TRUE(talk().say(row.request).session().ignores_input());
  }
}

}  // namespace
}  // namespace heddle::servers
