#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "arrivals.hpp"
#include "options.hpp"

namespace heddle::load {

/// The bytes that all connections of a thread send, written once: a request follows from its place.
///
/// HTTP: the request as often as may be outstanding, and once more, so that any number of requests
/// is one stretch from wherever the last one ended. Echo: random bytes, of which each message is a
/// stretch that begins elsewhere, so that the answer to another message does not pass for this
/// one's.
class outgoing {
 public:
  explicit outgoing(const options& run) : is_echo_(run.speaks == protocol::echo) {
    if (is_echo_) {
      request_bytes_ = run.payload_bytes;
      random_bits random(run.seed, 0);
      bytes_.resize(run.payload_bytes + echo_windows);
      for (char& byte : bytes_) byte = static_cast<char>(random.next() >> 56);
      return;
    }
    const bool once = run.speaks == protocol::http_close;
    const std::string text = "GET " + run.path + (once ? " HTTP/1.0" : " HTTP/1.1") +
                             "\r\nHost: " + run.target.to_string() + "\r\n\r\n";
    request_bytes_ = text.size();
    for (unsigned copy = 0; copy <= run.pipeline; ++copy)
      bytes_.insert(bytes_.end(), text.begin(), text.end());
  }

  std::size_t request_bytes() const { return request_bytes_; }
  const char* at(std::size_t place) const { return bytes_.data() + place; }

  /// Where the message `number` of a connection begins.
  std::size_t echo_place(std::size_t number) const { return number * 61 % echo_windows; }

  /// Where to go on after the bytes before `place` were sent.
  std::size_t wrapped(std::size_t place) const { return is_echo_ ? place : place % request_bytes_; }

 private:
  static constexpr std::size_t echo_windows = 4093;  // prime, so that every place comes up

  bool is_echo_;
  std::size_t request_bytes_ = 0;
  std::vector<char> bytes_;
};

}  // namespace heddle::load
