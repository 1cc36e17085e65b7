#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include <heddle/net/socket.hpp>

namespace heddle::servers {

/// Answers any read with the one response, as async-bench's servers do, once `work()` has returned
/// true; nothing is parsed. Ends with the connection, at `limit` for a read or a write, or when
/// `work()` answers false.
template <class Work>
void answer_reads(socket& peer, deadline limit, Work work) {
  constexpr std::string_view response = "HTTP/1.1 200 OK\nContent-Length: 12\n\nHello world!";
  std::array<std::byte, 1024> buffer;
  for (;;) {
    const result<std::size_t> got = peer.read(buffer, limit);
    if (!got || *got == 0 || !work()) return;
    if (!peer.write_all(std::as_bytes(std::span(response)), limit)) return;
  }
}

}  // namespace heddle::servers
