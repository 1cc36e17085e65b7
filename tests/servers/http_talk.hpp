#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "http_session.hpp"

namespace heddle::servers {

inline constexpr http_route routes[] = {
    {"/json", "application/json", [](std::string& body) { body += "{\"message\":\"hi\"}"; }},
    {"/plaintext", "text/plain", [](std::string& body) { body += "hi"; }},
};

inline std::int64_t fixed_clock() noexcept { return 784111777; }

inline const std::string get = "GET /plaintext HTTP/1.1\r\nHost: x\r\n\r\n";

/// An answer of the session; `more` are further header lines.
inline std::string answer_of(const std::string& status, const std::string& type,
                             const std::string& body, const std::string& more = "") {
  return "HTTP/1.1 " + status +
         "\r\nServer: heddle\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + more + "\r\n" + body;
}

inline std::string refusal_of(const std::string& status) {
  return answer_of(status, "text/plain", "", "Connection: close\r\n");
}

inline const std::string plaintext = answer_of("200 OK", "text/plain", "hi");
inline const std::string json_answer =
    answer_of("200 OK", "application/json", "{\"message\":\"hi\"}");
inline const std::string closing = answer_of("200 OK", "text/plain", "hi", "Connection: close\r\n");
inline const std::string keeping =
    answer_of("200 OK", "text/plain", "hi", "Connection: keep-alive\r\n");
inline const std::string not_found = answer_of("404 Not Found", "text/plain", "Not Found\n");
inline const std::string not_allowed = answer_of("405 Method Not Allowed", "text/plain",
                                                 "Method Not Allowed\n", "Allow: GET, HEAD\r\n");
inline const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";

/// A session with what it has answered so far.
class talk {
 public:
  /// Feeds `bytes` in pieces until the session wants to close; takes the reply after each.
  talk& say(std::string_view bytes, std::size_t piece_bytes = std::string_view::npos) {
    while (!bytes.empty() && !session_.wants_close()) {
      session_.feed(std::as_bytes(std::span(bytes.substr(0, piece_bytes))));
      const auto reply = session_.reply();
      if (!reply.empty()) ++replies_;
      heard_.append(reinterpret_cast<const char*>(reply.data()), reply.size());
      session_.clear_reply();
      bytes.remove_prefix(std::min(piece_bytes, bytes.size()));
    }
    return *this;
  }

  const std::string& heard() const { return heard_; }
  std::size_t replies() const { return replies_; }
  const http_session& session() const { return session_; }

 private:
  http_date date_{fixed_clock};
  http_session session_{routes, date_};
  std::string heard_;
  std::size_t replies_ = 0;
};

/// The same answer however the request is cut: whole, byte by byte, and in two at every place.
inline void expect_answer(const std::string& request, const std::string& answer, bool closes) {
  SCOPED_TRACE(request.substr(0, 200));
  talk whole;
  whole.say(request);
  EXPECT_EQ(whole.heard(), answer);
  EXPECT_EQ(whole.session().wants_close(), closes);
  EXPECT_EQ(talk().say(request, 1).heard(), answer);
  for (std::size_t at = 1; at < request.size(); ++at) {
    const std::string_view text = request;
    ASSERT_EQ(talk().say(text.substr(0, at)).say(text.substr(at)).heard(), answer)
        << "cut at " << at;
  }
}

}  // namespace heddle::servers
