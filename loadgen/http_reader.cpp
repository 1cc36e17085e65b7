#include "http_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace heddle::load {
namespace {

constexpr std::string_view version_prefix = "HTTP/1.";
constexpr std::size_t before_status = 9;  // "HTTP/1.1 "
constexpr std::size_t after_status = before_status + 3;

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

char lower(char byte) { return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte | 0x20) : byte; }

}  // namespace

http_reader::progress http_reader::read(std::string_view& bytes) {
  if (state_ == state::finished) begin();
  const char* at = bytes.data();
  const char* const start = at;
  const char* const end = at + bytes.size();
  while (at != end && state_ != state::body) {
    if (state_ == state::skip) {
      const void* const found = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
      at = found == nullptr ? end : static_cast<const char*>(found) + 1;
      if (found != nullptr) {
        state_ = state::name;
        word_bytes_ = 0;
      }
      continue;
    }
    const char byte = *at++;
    if (!(state_ == state::status_line ? read_status_byte(byte) : read_header_byte(byte)))
      return progress::malformed;
  }
  header_bytes_ += static_cast<std::uint32_t>(at - start);
  if (header_bytes_ > longest_header_bytes) return progress::malformed;
  bytes.remove_prefix(static_cast<std::size_t>(at - start));
  return state_ == state::body ? read_body(bytes) : progress::more;
}

void http_reader::begin() {
  reset();
  state_ = state::status_line;
}

bool http_reader::read_status_byte(char byte) {
  const std::size_t at = word_bytes_++;
  if (at < version_prefix.size()) return byte == version_prefix[at];
  if (at == version_prefix.size()) {
    keeps_open_ = byte == '1';
    return byte == '0' || byte == '1';
  }
  if (at < before_status) return byte == ' ';
  if (at < after_status) {
    status_ = static_cast<std::uint16_t>(status_ * 10 + (byte - '0'));
    return is_digit(byte);
  }
  state_ = byte == '\n' ? state::name : state::skip;  // the reason matters to nobody
  word_bytes_ = 0;
  return byte == ' ' || byte == '\r' || byte == '\n';
}

bool http_reader::read_header_byte(char byte) {
  if (byte == '\n') {
    if (state_ == state::value) return end_value();
    if (word_bytes_ != 0) return false;  // a line without a colon
    end_header();
    return true;
  }
  if (byte == '\r' || (state_ == state::value && word_bytes_ == 0 && (byte == ' ' || byte == '\t')))
    return true;
  if (byte == ':' && state_ == state::name) return end_name();
  if (word_bytes_ == word_.size()) {
    if (state_ == state::value && header_ == header::content_length) return false;
    state_ = state::skip;
    return true;
  }
  word_[word_bytes_++] = lower(byte);
  return true;
}

bool http_reader::end_name() {
  const std::string_view name(word_.data(), word_bytes_);
  word_bytes_ = 0;
  state_ = state::value;
  if (name == "content-length")
    header_ = header::content_length;
  else if (name == "connection")
    header_ = header::connection;
  else if (name == "transfer-encoding")
    header_ = header::transfer_encoding;
  else
    state_ = state::skip;
  return !name.empty();
}

bool http_reader::end_value() {
  std::string_view value(word_.data(), word_bytes_);
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
  state_ = state::name;
  word_bytes_ = 0;
  switch (header_) {
    case header::content_length:
      return set_length(value);
    case header::connection:
      if (value == "close") keeps_open_ = false;
      if (value == "keep-alive") keeps_open_ = true;
      return true;
    case header::transfer_encoding:
      return value == "identity";
  }
  return false;
}

bool http_reader::set_length(std::string_view digits) {
  std::uint64_t length = 0;
  const auto [stopped, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (error != std::errc() || stopped != digits.data() + digits.size()) return false;
  if (has_length_ && length != body_bytes_) return false;
  has_length_ = true;
  body_bytes_ = length;
  return true;
}

void http_reader::end_header() {
  state_ = state::body;
  const bool never_has_body = status_ == 204 || status_ == 304;
  if (never_has_body) body_bytes_ = 0;
  body_left_bytes_ = body_bytes_;
  until_end_ = !has_length_ && !never_has_body;
  if (until_end_) keeps_open_ = false;
}

http_reader::progress http_reader::read_body(std::string_view& bytes) {
  if (until_end_) {
    body_bytes_ += bytes.size();
    bytes.remove_prefix(bytes.size());
    return progress::more;
  }
  const std::size_t taken =
      static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), body_left_bytes_));
  body_left_bytes_ -= taken;
  bytes.remove_prefix(taken);
  if (body_left_bytes_ != 0) return progress::more;
  state_ = state::finished;
  return progress::complete;
}

}  // namespace heddle::load
