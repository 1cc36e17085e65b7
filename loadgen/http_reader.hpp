#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heddle::load {

/// Reads HTTP/1 responses out of a stream that arrives in pieces, and keeps no byte of them. Lines
/// end in "\r\n" or "\n". A body is as long as Content-Length says, or reaches to the end of the
/// connection; chunked ones are refused as malformed.
class http_reader {
 public:
  enum class progress { more, complete, malformed };

  static constexpr std::size_t longest_header_bytes = 64 * 1024;

  /// Takes bytes from the front of `bytes`, at most to the end of the response. After `complete`
  /// the getters speak of that response until the next call, which begins another.
  progress read(std::string_view& bytes);

  /// The connection ended. True when that is how the response's body ends.
  bool complete_at_end() const { return state_ == state::body && until_end_; }

  /// Nothing of a response was read since the last one.
  bool between_responses() const { return state_ == state::finished; }

  unsigned status() const { return status_; }
  std::uint64_t body_bytes() const { return body_bytes_; }
  bool body_until_end() const { return until_end_; }

  /// Whether the connection stays open after this response, by its version and its Connection.
  bool keeps_open() const { return keeps_open_; }

  /// Forgets what was read, for another connection.
  void reset() { *this = http_reader(); }

 private:
  enum class state : std::uint8_t { finished, status_line, name, value, skip, body };
  enum class header : std::uint8_t { content_length, connection, transfer_encoding };

  void begin();
  bool read_status_byte(char byte);
  bool read_header_byte(char byte);
  bool end_name();
  bool end_value();
  bool set_length(std::string_view digits);
  void end_header();
  progress read_body(std::string_view& bytes);

  std::uint64_t body_bytes_ = 0;  // known from Content-Length, or read so far
  std::uint64_t body_left_bytes_ = 0;
  std::uint32_t header_bytes_ = 0;
  std::uint16_t status_ = 0;
  state state_ = state::finished;
  header header_ = header::content_length;
  bool has_length_ = false;
  bool until_end_ = false;
  bool keeps_open_ = true;
  std::uint8_t word_bytes_ = 0;     // of the current line's name or value; of the status line, all
  std::array<char, 20> word_ = {};  // lower case; what is longer is none that matters
};

}  // namespace heddle::load
