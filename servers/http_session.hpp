#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/beast/http/error.hpp>

#include "http_date.hpp"
#include "http_request.hpp"

namespace heddle::servers {

/// The server's side of one HTTP/1.0 or 1.1 connection, without the connection: bytes from the peer
/// go in, bytes for the peer come out. Requests are answered in order, however they are cut.
///
/// Reads a request's body and drops it. Refuses, with one last answer: what does not parse or could
/// be read as two different requests (400), a body beyond body_limit_bytes (413), a header or
/// trailer beyond header_limit_bytes (431), a transfer coding but chunked (501), another version
/// (505). Memory: at most header_limit_bytes of an unfinished request, and the answers not yet
/// taken.
class http_session {
 public:
  static constexpr std::size_t header_limit_bytes = 16 * 1024;
  static constexpr std::size_t body_limit_bytes = 1024 * 1024;

  /// `routes` and `date` must outlive the session.
  http_session(std::span<const http_route> routes, http_date& date);

  /// Takes the next bytes of the peer's stream and answers what they complete.
  void feed(std::span<const std::byte> bytes);

  /// What the peer is to be sent, valid until the next call of feed or clear_reply.
  std::span<const std::byte> reply() const noexcept { return std::as_bytes(std::span(reply_)); }
  void clear_reply() noexcept { reply_.clear(); }

  /// Nothing more will be answered: the connection ends once the reply is written.
  bool wants_close() const noexcept { return wants_close_; }
  /// The peer has sent more than was answered: closing at once could cost it the reply.
  bool ignores_input() const noexcept { return ignores_input_; }
  /// No request has begun that is not answered.
  bool is_between_requests() const noexcept;

 private:
  using error_code = boost::beast::error_code;

  std::size_t consume(std::string_view data);
  std::size_t skip_empty_lines(std::string_view data);
  std::size_t put(std::string_view data, error_code& error);
  void next_request();
  void answer();
  void refuse(std::string_view status);
  std::string_view refusal(error_code error, std::string_view data) const;
  void append_answer(std::string_view status, std::string_view content_type, std::string_view body,
                     std::string_view more_header = {});
  void append(std::initializer_list<std::string_view> pieces);

  const std::span<const http_route> routes_;
  http_date& date_;
  std::optional<http_request> request_;
  std::size_t header_bytes_ = 0;  // of the request under way, as far as consumed
  std::string partial_;           // what has come and cannot be consumed without what follows
  std::string body_;              // of the answer under way; here to be allocated once
  std::string reply_;
  bool wants_close_ = false;
  bool ignores_input_ = false;
};

}  // namespace heddle::servers
