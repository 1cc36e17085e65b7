#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "common/answers.hpp"
#include "http_date.hpp"
#include "http_session.hpp"

namespace peers {

/// The one route of the json protocol; its object is serialised for each request.
inline constexpr heddle::servers::http_route json_routes[] = {
    {"/json", "application/json",
     [](std::string& body) {
       constexpr std::string_view message = "Hello, World!";  // nothing in it needs an escape
       body.append("{\"message\":\"").append(message).append("\"}");
     }},
};

inline constinit heddle::servers::http_date json_date{heddle::servers::wall_clock_seconds};

/// Parses and answers with the code of heddle's own json server, so that a comparison is not one of
/// parsers. Unlike it there is no time limit on a request, and after a refusal nothing more is
/// read.
template <>
class answers<protocol::json> {
 public:
  std::string_view answer(std::string_view read) {
    session_.clear_reply();
    session_.feed(std::as_bytes(std::span(read)));
    const std::span<const std::byte> reply = session_.reply();
    return {reinterpret_cast<const char*>(reply.data()), reply.size()};
  }
  bool closes() const { return session_.wants_close(); }

 private:
  heddle::servers::http_session session_{json_routes, json_date};
};

}  // namespace peers
