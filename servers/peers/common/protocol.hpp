#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

namespace peers {

/// What `hello` and the workloads answer to every read, whatever was read: byte for byte what
/// async-bench's servers send.
inline constexpr std::string_view response = "HTTP/1.1 200 OK\nContent-Length: 12\n\nHello world!";

/// What `http_close` answers before it closes: 120 bytes, as in libcoring's comparison.
inline constexpr std::string_view closing_response =
    "HTTP/1.1 200 OK\r\n"
    "Connection: close\r\n"
    "Content-Type: text/plain\r\n"
    "Content-Length: 36\r\n"
    "\r\n"
    "Hello world! 120 bytes and closing.\n";
static_assert(closing_response.size() == 120);

enum class protocol {
  hello,
  hello_timeout,  // each read and each write may take operation_limit at most
  echo,           // sends back what it reads
  json,           // HTTP/1.1, /json of the TechEmpower benchmarks
  http_close,     // answers the first read, then closes
  // The workloads answer as hello does, after work that loads the scheduler.
  fanout,
  pipeline,
  imbalance,
  contended,
  sleepers,
};

constexpr bool is_workload(protocol which) { return which >= protocol::fanout; }

/// The most that one read takes. Under hello a longer request is several reads, and gets as many
/// responses; echo and json read as much at once as heddle's own do.
constexpr std::size_t read_buffer_bytes(protocol which) {
  return which == protocol::echo || which == protocol::json ? 4096 : 1024;
}

/// Whether connections have TCP_NODELAY: where an answer may follow one that is not acknowledged.
constexpr bool wants_no_delay(protocol which) {
  return which == protocol::echo || which == protocol::json;
}

/// The longest that one read or one write may take under hello_timeout; then the connection closes.
inline constexpr std::chrono::seconds operation_limit{5};

/// How long a server that has no descriptor (or memory) left for a new connection waits before it
/// accepts again.
inline constexpr std::chrono::milliseconds accept_pause{100};

}  // namespace peers
