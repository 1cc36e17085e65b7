#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <boost/beast/http/basic_parser.hpp>

namespace heddle::servers {

/// What GET of a path answers.
struct http_route {
  std::string_view path;
  std::string_view content_type;
  void (*append_body)(std::string& body);  ///< called for each answer
};

/// Parses one request and keeps what its answer depends on; nothing is allocated.
class http_request final : public boost::beast::http::basic_parser<true> {
 public:
  http_request(std::span<const http_route> routes, std::uint64_t body_limit_bytes);

  /// nullptr: there is no such path.
  const http_route* route() const noexcept { return route_; }
  bool is_get() const noexcept { return method_ == verb::get; }
  bool is_head() const noexcept { return method_ == verb::head; }
  bool is_1_0() const noexcept { return version_ == 10; }
  /// After the header.
  bool keeps_connection() const { return !says_close_ && keep_alive(); }

  /// The peer waits for "100 Continue" before it sends the body, if there is one. Says so once.
  bool take_wait_for_continue() noexcept;

  /// The status that answers a request of which put() failed, if it was not Beast that refused it.
  std::string_view refusal() const noexcept { return refusal_; }

 private:
  using verb = boost::beast::http::verb;
  using field = boost::beast::http::field;
  using string_view = boost::beast::string_view;
  using error_code = boost::beast::error_code;
  template <class T>
  using optional = boost::optional<T>;

  void on_request_impl(verb method, string_view method_text, string_view target, int version,
                       error_code& error) override;
  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_field_impl(field name, string_view name_text, string_view value,
                     error_code& error) override;
  void on_header_impl(error_code& error) override;
  void on_body_init_impl(const optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(string_view body, error_code&) override { return body.size(); }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code&) override {
    return body.size();
  }
  void on_finish_impl(error_code&) override {}

  void refuse(std::string_view status, error_code& error);
  void look_at_transfer_coding(string_view value, error_code& error);

  const std::span<const http_route> routes_;
  const http_route* route_ = nullptr;
  std::string_view refusal_;
  verb method_ = verb::unknown;
  int version_ = 11;
  unsigned hosts_ = 0;
  bool says_close_ = false;
  bool has_length_ = false;
  bool has_coding_ = false;
  bool coding_is_unknown_ = false;
  bool waits_for_continue_ = false;
};

}  // namespace heddle::servers
