#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

namespace peers {

/// What a peer answers to every read, whatever was read: byte for byte what the reference
/// raw_epoll.c sends.
inline constexpr std::string_view response = "HTTP/1.1 200 OK\nContent-Length: 12\n\nHello world!";

/// The most that one read takes; a longer request is several reads and gets as many responses.
inline constexpr std::size_t read_buffer_bytes = 1024;

enum class protocol {
  hello,
  hello_timeout,  // each read and each write may take operation_limit at most
};

/// The longest that one read or one write may take under hello_timeout; then the connection closes.
inline constexpr std::chrono::seconds operation_limit{5};

/// How long a server that has no descriptor (or memory) left for a new connection waits before it
/// accepts again.
inline constexpr std::chrono::milliseconds accept_pause{100};

}  // namespace peers
