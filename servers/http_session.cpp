#include "http_session.hpp"

#include <algorithm>
#include <charconv>

#include <boost/asio/buffer.hpp>

namespace heddle::servers {
namespace {

namespace http = boost::beast::http;

/// The shortest end of a chunked body, "0\r\n\r\n". Beast asserts that it is not asked about less.
constexpr std::size_t shortest_chunked_bytes = 5;

/// What stands for the version in a request line: what follows the second space.
std::string_view version_text(std::string_view data) {
  const std::size_t space = data.find(' ', data.find(' ') + 1);
  return data.substr(space + 1, std::string_view("HTTP/1.1").size());
}

bool is_digit(char text) { return text >= '0' && text <= '9'; }

bool is_version(std::string_view text) {
  return text.size() == 8 && text.starts_with("HTTP/") && is_digit(text[5]) && text[6] == '.' &&
         is_digit(text[7]);
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

http_session::http_session(std::span<const http_route> routes, http_date& date)
    : routes_(routes), date_(date) {
  next_request();
}

bool http_session::is_between_requests() const noexcept {
  return header_bytes_ == 0 && !request_->got_some() && partial_.empty();
}

void http_session::feed(std::span<const std::byte> bytes) {
  std::string_view data = as_text(bytes);
  while (!data.empty() && !wants_close_) {
    if (partial_.empty()) {
      data.remove_prefix(consume(data));
      if (wants_close_) break;
      partial_ = data;  // less than a header's limit: more would have been refused
      return;
    }
    const std::string_view more = data.substr(0, header_limit_bytes - partial_.size());
    partial_.append(more);
    data.remove_prefix(more.size());
    partial_.erase(0, consume(partial_));
  }
  if (!data.empty() || !partial_.empty()) ignores_input_ = wants_close_;
}

/// Parses as much of `data` as can be without what follows it, and says how much that was.
std::size_t http_session::consume(std::string_view data) {
  std::size_t consumed = 0;
  while (!wants_close_) {
    if (!request_->got_some()) consumed += skip_empty_lines(data.substr(consumed));
    const std::string_view rest = data.substr(consumed);
    const bool in_header = !request_->is_header_done();
    const std::size_t allowed = in_header ? header_limit_bytes - header_bytes_ : header_limit_bytes;
    if (allowed == 0) refuse("431 Request Header Fields Too Large");
    if (allowed == 0 || rest.empty() || (rest == "\r" && !request_->got_some())) break;
    if (!in_header && request_->chunked() && rest.size() < shortest_chunked_bytes) break;

    const std::string_view window = rest.substr(0, allowed);
    error_code error;
    const std::size_t used = put(window, error);
    consumed += used;
    if (in_header) header_bytes_ += used;

    if (error && error != http::error::need_more) {
      refuse(refusal(error, window));
    } else if (request_->is_done()) {
      answer();
    } else if (used == 0) {
      if (window.size() == allowed) refuse("431 Request Header Fields Too Large");
      break;
    } else if (request_->is_header_done() && request_->take_wait_for_continue()) {
      reply_.append("HTTP/1.1 100 Continue\r\n\r\n");
    }
  }
  return consumed;
}

/// How much of `data` is empty lines, which before a request are passed over (RFC 9112, 2.2). They
/// count as its header.
std::size_t http_session::skip_empty_lines(std::string_view data) {
  std::size_t skipped = 0;
  for (; data.substr(skipped).starts_with("\r\n") && header_bytes_ < header_limit_bytes;
       skipped += 2)
    header_bytes_ += 2;
  return skipped;
}

/// Beast's put, which knows no version but 1.0 and 1.1: later 1.x are to be read as 1.1 (RFC 9110,
/// 2.5), so those get another request line.
std::size_t http_session::put(std::string_view data, error_code& error) {
  const std::size_t used = request_->put(boost::asio::buffer(data), error);
  if (error != http::error::bad_version) return used;
  const std::string_view version = version_text(data);
  if (!is_version(version) || version[5] != '1' || version[7] <= '1') return used;
  const std::size_t end = static_cast<std::size_t>(version.end() - data.begin());
  std::string line(data.substr(0, end));
  line.back() = '1';
  line.append(data.substr(end, 2));
  next_request();
  return request_->put(boost::asio::buffer(line), error);
}

void http_session::next_request() {
  header_bytes_ = 0;
  request_.emplace(routes_, body_limit_bytes);
}

void http_session::answer() {
  wants_close_ = !request_->keeps_connection();
  const http_route* const route = request_->route();
  if (route == nullptr) {
    append_answer("404 Not Found", "text/plain", "Not Found\n");
  } else if (!request_->is_get() && !request_->is_head()) {
    append_answer("405 Method Not Allowed", "text/plain", "Method Not Allowed\n",
                  "Allow: GET, HEAD\r\n");
  } else {
    body_.clear();
    route->append_body(body_);
    append_answer("200 OK", route->content_type, body_);
  }
  next_request();
}

void http_session::refuse(std::string_view status) {
  wants_close_ = true;
  ignores_input_ = true;
  append_answer(status, "text/plain", {});
}

/// Why `data` could not be parsed, as a status.
std::string_view http_session::refusal(error_code error, std::string_view data) const {
  if (!request_->refusal().empty()) return request_->refusal();
  if (error == http::error::header_limit) return "431 Request Header Fields Too Large";
  if (error == http::error::body_limit) return "413 Content Too Large";
  if (error == http::error::bad_version) {
    const std::string_view version = version_text(data);
    if (is_version(version) && version[5] != '1') return "505 HTTP Version Not Supported";
  }
  return "400 Bad Request";
}

void http_session::append_answer(std::string_view status, std::string_view content_type,
                                 std::string_view body, std::string_view more_header) {
  const http_date_text date = date_.now();
  char digits[20];
  const char* const digits_end = std::to_chars(digits, std::end(digits), body.size()).ptr;
  std::string_view connection;
  if (wants_close_) {
    connection = "Connection: close\r\n";
  } else if (request_->is_1_0()) {
    connection = "Connection: keep-alive\r\n";
  }
  append({"HTTP/1.1 ",
          status,
          "\r\nServer: heddle\r\nDate: ",
          {date.data(), date.size()},
          "\r\nContent-Type: ",
          content_type,
          "\r\nContent-Length: ",
          {digits, digits_end},
          "\r\n",
          more_header,
          connection,
          "\r\n",
          request_->is_head() ? std::string_view() : body});
}

void http_session::append(std::initializer_list<std::string_view> pieces) {
  for (const std::string_view piece : pieces) reply_.append(piece);
}

}  // namespace heddle::servers
