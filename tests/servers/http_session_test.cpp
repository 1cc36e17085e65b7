#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "http_talk.hpp"

namespace heddle::servers {
namespace {

TEST(http_session, answers_each_route_with_its_type_and_body) {
  expect_answer("GET /json HTTP/1.1\r\nHost: localhost:3000\r\nAccept: */*\r\n\r\n", json_answer,
                false);
  expect_answer(get, plaintext, false);
}

TEST(http_session, looks_at_the_path_alone) {
  for (const std::string target : {"/plaintext?a=b", "http://x/plaintext", "http://x/plaintext?c"})
    expect_answer("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n", plaintext, false);
  for (const std::string target : {"/", "/plaintext/", "/Plaintext", "*", "http://x", "x:80",
                                   "/?/json", "http://x?/json", "/%6Ason"})
    expect_answer("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n", not_found, false);
}

TEST(http_session, is_between_requests_before_the_first_byte_and_after_the_last) {
  talk one;
  for (int i = 0; i < 2; ++i) {
    for (std::size_t at = 0; at < get.size(); ++at) {
      ASSERT_EQ(one.session().is_between_requests(), at == 0) << at;
      one.say(get.substr(at, 1));
    }
  }
  EXPECT_TRUE(one.session().is_between_requests());
}

TEST(http_session, answers_a_thousand_requests_of_one_buffer_in_order_at_once) {
  std::string requests;
  std::string answers;
  for (int i = 0; i < 1000; ++i) {
    const bool first = i % 3 == 0;
    requests += first ? "GET /json HTTP/1.1\r\nHost: x\r\n\r\n" : get;
    answers += first ? json_answer : plaintext;
  }
  talk at_once;
  at_once.say(requests);
  EXPECT_EQ(at_once.heard(), answers);
  EXPECT_EQ(at_once.replies(), 1u);
  EXPECT_FALSE(at_once.session().wants_close());
  for (const std::size_t piece_bytes : {1, 2, 3, 7, 64, 1000, 4096, 16384, 16385})
    ASSERT_EQ(talk().say(requests, piece_bytes).heard(), answers) << piece_bytes;
}

TEST(http_session, passes_over_empty_lines_before_a_request) {
  expect_answer("\r\n" + get + "\r\n\r\n" + get, plaintext + plaintext, false);
  expect_answer("\n" + get, refusal_of("400 Bad Request"), true);
  expect_answer("\r" + get, refusal_of("400 Bad Request"), true);
}

TEST(http_session, keeps_or_closes_the_connection_as_version_and_header_say) {
  struct {
    std::string version, connection, answer;
    bool closes;
  } const table[] = {
      {"1.1", "", plaintext, false},
      {"1.1", "Connection: keep-alive\r\n", plaintext, false},
      {"1.1", "Connection: close\r\n", closing, true},
      {"1.1", "Connection: Close\r\n", closing, true},
      {"1.1", "connection: TE, close\r\n", closing, true},
      {"1.1", "Connection: keep-alive\r\nConnection: close\r\n", closing, true},
      {"1.1", "Connection: closed\r\n", plaintext, false},
      {"1.0", "", closing, true},
      {"1.0", "Connection: close\r\n", closing, true},
      {"1.0", "Connection: keep-alive\r\n", keeping, false},
      {"1.0", "Connection: Keep-Alive\r\n", keeping, false},
      {"1.0", "Connection: keep-alive, close\r\n", closing, true},
      {"1.0", "Connection: close, keep-alive\r\n", closing, true},
      {"1.2", "", plaintext, false},
      {"1.9", "Connection: close\r\n", closing, true},
  };
  for (const auto& row : table) {
    expect_answer(
        "GET /plaintext HTTP/" + row.version + "\r\nHost: x\r\n" + row.connection + "\r\n",
        row.answer, row.closes);
  }
}

TEST(http_session, ignores_what_follows_the_last_request) {
  const std::string last = "GET /plaintext HTTP/1.0\r\n\r\n";
  EXPECT_FALSE(talk().say(last).session().ignores_input());
  expect_answer(get + last + get, plaintext + closing, true);
  EXPECT_TRUE(talk().say(get + last + get).session().ignores_input());
  EXPECT_TRUE(talk().say(get + last + get, 20).session().ignores_input());
}

TEST(http_session, answers_head_as_get_without_the_body) {
  const std::string head = json_answer.substr(0, json_answer.find("\r\n\r\n") + 4);
  expect_answer("HEAD /json HTTP/1.1\r\nHost: x\r\n\r\n" + get, head + plaintext, false);
  expect_answer("HEAD /x HTTP/1.1\r\nHost: x\r\n\r\n", not_found.substr(0, not_found.size() - 10),
                false);
}

TEST(http_session, refuses_other_methods_but_keeps_the_connection) {
  for (const std::string method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get", "X-OTHER"})
    expect_answer(method + " /json HTTP/1.1\r\nHost: x\r\n\r\n" + get, not_allowed + plaintext,
                  false);
}

TEST(http_session, drops_bodies) {
  const std::string post = "POST /json HTTP/1.1\r\nHost: x\r\n";
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  const std::vector<std::string> bodies = {
      "Content-Length: 0\r\n\r\n",
      "Content-Length: 5\r\n\r\n" + get.substr(0, 5),
      "Content-Length: 5\r\nContent-Length: 5\r\n\r\nabcde",
      chunked + "\r\n0\r\n\r\n",
      chunked + "\r\n5\r\n\r\nGET\r\n0\r\n\r\n",
      "Transfer-Encoding: Chunked\r\n\r\n1;a=b;c=\"d\"\r\nx\r\n0A\r\n0123456789\r\n000\r\n\r\n",
      chunked + "\r\n1\r\nx\r\n0\r\nTrailer: y\r\nHost: z\r\nExpect: 100-continue\r\n\r\n",
  };
  for (const std::string& body : bodies)
    expect_answer(post + body + get, not_allowed + plaintext, false);
  expect_answer("GET /plaintext HTTP/1.1\r\nHost: x\r\n" + bodies[4] + get, plaintext + plaintext,
                false);
}

TEST(http_session, asks_for_the_body_that_a_peer_holds_back) {
  const std::string head = "POST /json HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n";
  EXPECT_EQ(talk().say(get + head + "Content-Length: 2\r\n\r\n").heard(), plaintext + go_on);
  talk one;
  one.say(head + "Content-Length: 2\r\n\r\n", 1).say("xx", 1);
  EXPECT_EQ(one.heard(), go_on + not_allowed);
  one.say(head + "Transfer-Encoding: chunked\r\n\r\n").say("0\r\n\r\n", 1);
  EXPECT_EQ(one.heard(), go_on + not_allowed + go_on + not_allowed);
  one.say(head + "\r\n").say(head + "Content-Length: 2\r\n\r\nxx");
  EXPECT_EQ(one.heard(), go_on + not_allowed + go_on + not_allowed + not_allowed + not_allowed);

  EXPECT_EQ(talk()
                .say("POST /json HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
                .heard(),
            "");
  EXPECT_EQ(talk().say(head + "Content-Length: 9999999\r\n\r\n").heard(),
            refusal_of("413 Content Too Large"));
}

TEST(http_session, answers_nothing_to_half_a_request) {
  talk one;
  one.say(get.substr(0, get.size() - 1));
  EXPECT_EQ(one.heard(), "");
  EXPECT_FALSE(one.session().wants_close());
}

}  // namespace
}  // namespace heddle::servers
