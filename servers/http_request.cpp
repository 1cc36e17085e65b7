#include "http_request.hpp"

#include <algorithm>
#include <utility>

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/rfc7230.hpp>

namespace heddle::servers {
namespace {

namespace http = boost::beast::http;

/// The path of a request target, which may be a whole address (RFC 9112, 3.2.2), without a query.
std::string_view path_of(std::string_view target) {
  if (!target.starts_with('/')) {
    const std::size_t scheme_end = target.find("://");
    if (scheme_end == std::string_view::npos) return target;
    const std::size_t host_end = target.find_first_of("/?", scheme_end + 3);
    if (host_end == std::string_view::npos || target[host_end] == '?') return "/";
    target.remove_prefix(host_end);
  }
  return target.substr(0, target.find('?'));
}

}  // namespace

http_request::http_request(std::span<const http_route> routes, std::uint64_t body_limit_bytes)
    : routes_(routes) {
  eager(true);
  body_limit(body_limit_bytes);
  // Beast counts a header's bytes anew with each piece; http_session counts them all.
  header_limit(UINT32_MAX);
}

bool http_request::take_wait_for_continue() noexcept {
  return std::exchange(waits_for_continue_, false);
}

void http_request::refuse(std::string_view status, error_code& error) {
  refusal_ = status;
  error = http::error::bad_value;
}

void http_request::on_request_impl(verb method, string_view, string_view target, int version,
                                   error_code&) {
  method_ = method;
  version_ = version;
  const std::string_view path = path_of({target.data(), target.size()});
  const auto found = std::ranges::find(routes_, path, &http_route::path);
  if (found != routes_.end()) route_ = &*found;
}

void http_request::on_field_impl(field name, string_view, string_view value, error_code& error) {
  if (is_header_done()) return;  // a trailer's fields change nothing
  switch (name) {
    case field::host:
      ++hosts_;
      break;
    case field::connection:
      // Beast lets HTTP/1.0's keep-alive win over close; it must not (RFC 9112, 9.3).
      if (http::token_list(value).exists("close")) says_close_ = true;
      break;
    case field::content_length:
      has_length_ = true;
      break;
    case field::transfer_encoding:
      look_at_transfer_coding(value, error);
      break;
    case field::expect:
      if (boost::beast::iequals(value, "100-continue")) waits_for_continue_ = true;
      break;
    default:
      break;
  }
}

/// Beast takes a body whose last coding is not chunked for none, and what follows for a request.
void http_request::look_at_transfer_coding(string_view value, error_code& error) {
  has_coding_ = true;
  if (boost::beast::iequals(value, "chunked")) return;
  const http::opt_token_list codings(value);
  bool last_is_chunked = false;
  for (const auto& coding : codings) last_is_chunked = boost::beast::iequals(coding, "chunked");
  if (!last_is_chunked || !http::validate_list(codings)) return refuse("400 Bad Request", error);
  coding_is_unknown_ = true;
}

void http_request::on_header_impl(error_code& error) {
  const bool framing_is_doubtful = has_coding_ && (has_length_ || is_1_0());
  const bool host_is_doubtful = hosts_ > 1 || (hosts_ == 0 && !is_1_0());
  if (framing_is_doubtful || host_is_doubtful) return refuse("400 Bad Request", error);
  if (coding_is_unknown_) return refuse("501 Not Implemented", error);
  if (is_1_0()) waits_for_continue_ = false;
}

}  // namespace heddle::servers
