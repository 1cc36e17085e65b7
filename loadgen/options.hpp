#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <heddle/net/endpoint.hpp>

namespace heddle::load {

enum class protocol {
  http,        ///< HTTP/1.1, one request at a time on a connection that stays
  http_close,  ///< HTTP/1.0, a new connection for each request
  pipelined,   ///< HTTP/1.1, several requests outstanding on a connection
  echo,        ///< so many bytes out, the same bytes back
};

/// When a connection sends its next request.
enum class mode {
  closed,  ///< as soon as the response is there
  think,   ///< a fixed time after the response
  open,    ///< when the schedule says so, whether or not responses came; first free connection
};

enum class arrival_pattern { poisson, constant };

inline constexpr unsigned most_threads = 256;
inline constexpr unsigned most_connections = 100'000;
inline constexpr unsigned deepest_pipeline = 1024;
inline constexpr std::size_t largest_payload_bytes = std::size_t{16} << 20;

/// One run, as asked for on the command line.
struct options {
  endpoint target{"127.0.0.1", 0};
  protocol speaks = protocol::http;
  std::string protocol_name = "http";
  mode paces = mode::closed;
  std::string mode_name = "closed";
  arrival_pattern arrivals = arrival_pattern::poisson;
  std::string path = "/";
  std::size_t payload_bytes = 64;  ///< echo
  unsigned pipeline = 1;           ///< requests outstanding on a connection
  unsigned connections = 64;
  unsigned threads = 2;
  double think_us = 0;         ///< think
  double rate_rps = 0;         ///< open, all threads together
  double duration_s = 0;       ///< when `requests` is 0
  std::uint64_t requests = 0;  ///< of all threads; 0: until `duration_s` are over
  double timeout_s = 10;       ///< a request in flight for longer has failed
  double drain_s = 1;          ///< how long responses are awaited after the end
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> expected_bytes;  ///< of a response's body
  std::string output;                           ///< empty: standard output
};

/// The options, or the exit status when there is nothing to run: 0 after --help, 2 after one line
/// on standard error that says what is wrong and what is allowed.
struct parsed {
  std::optional<options> run;
  int exit_status = 0;
};

parsed parse_command_line(int argc, const char* const* argv);

}  // namespace heddle::load
