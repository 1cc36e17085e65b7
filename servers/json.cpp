#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <sys/socket.h>

#include "application.hpp"
#include "http_date.hpp"
#include "http_session.hpp"
#include <heddle/base/clock.hpp>
#include <heddle/net/socket.hpp>

namespace heddle::servers {
namespace {

/// How long a peer may take to send one request, the wait for its first byte included, and to take
/// the answers to one read. So a peer that sends a byte now and then holds no fiber for ever
/// either.
constexpr std::chrono::seconds request_limit(60);
constexpr std::chrono::seconds answer_limit(60);
/// How long what a refused peer still sends is read, so that it gets to see the refusal.
constexpr std::chrono::seconds drain_limit(2);

struct greeting {
  std::string_view message;
};

/// Appends a JSON string: UTF-8 as it is, with quotes and escapes.
void append_json(std::string& out, std::string_view text) {
  constexpr std::string_view hexadecimal = "0123456789abcdef";
  out.push_back('"');
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20) {
      out.append("\\u00").append({hexadecimal[code >> 4], hexadecimal[code & 0xf]});
    } else {
      if (c == '"' || c == '\\') out.push_back('\\');
      out.push_back(c);
    }
  }
  out.push_back('"');
}

void append_json(std::string& out, const greeting& value) {
  out.append("{\"message\":");
  append_json(out, value.message);
  out.push_back('}');
}

/// TechEmpower's rules: the object is made and serialised for each request.
constexpr http_route routes[] = {
    {"/json", "application/json",
     [](std::string& body) { append_json(body, greeting{"Hello, World!"}); }},
    {"/plaintext", "text/plain", [](std::string& body) { body.append("Hello, World!"); }},
};

constinit http_date date(wall_clock_seconds);

/// Ends the stream and reads what comes for a while: a close with bytes unread would reset the
/// connection, and the peer could lose the answer.
void drain(socket& peer, std::span<std::byte> buffer) {
  if (!peer.shutdown(SHUT_WR)) return;
  deadline limit = drain_limit;
  while (now_ns() < limit.at_ns() && peer.read(buffer, limit).value_or(0) > 0) {
  }
}

void answer_requests(socket peer) {
  http_session session(routes, date);
  std::array<std::byte, 4096> buffer;  // a fraction of the smallest stack
  bool has_answered = false;
  deadline limit = request_limit;
  while (!session.wants_close()) {
    const result<std::size_t> got = peer.read(buffer, limit);
    if (!got || *got == 0) return;
    session.feed(std::span(buffer).first(*got));
    if (!session.reply().empty()) {
      if (!peer.write_all(session.reply(), answer_limit)) return;
      session.clear_reply();
      limit = request_limit;
      // A connection that goes on may need answers that do not wait for an acknowledgement.
      if (!session.wants_close() && !std::exchange(has_answered, true))
        static_cast<void>(peer.set_no_delay(true));
    }
    // From a request's first bytes on the deadline stays where it is.
    if (!session.is_between_requests()) limit.at_ns();
  }
  if (session.ignores_input()) drain(peer, buffer);
}

}  // namespace

extern const application json{"json", {}, make_stateless<answer_requests>};

}  // namespace heddle::servers
