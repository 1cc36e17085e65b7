#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "applications.hpp"
#include <heddle/net/socket.hpp>

namespace heddle::servers {
namespace {

constexpr std::string_view response = "HTTP/1.1 200 OK\nContent-Length: 12\n\nHello world!";

/// Answers any read with the one response, as async-bench's servers do: nothing is parsed.
void serve(socket peer, deadline limit) {
  std::array<std::byte, 1024> buffer;
  for (;;) {
    const result<std::size_t> got = peer.read(buffer, limit);
    if (!got || *got == 0) return;
    if (!peer.write_all(std::as_bytes(std::span(response)), limit)) return;
  }
}

}  // namespace

void hello(socket peer) { serve(std::move(peer), deadline::never()); }

void hello_timeout(socket peer) { serve(std::move(peer), std::chrono::seconds(5)); }

}  // namespace heddle::servers
