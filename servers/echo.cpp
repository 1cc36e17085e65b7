#include <array>
#include <cstddef>
#include <span>

#include "application.hpp"
#include <heddle/net/socket.hpp>

namespace heddle::servers {
namespace {

/// Sends back every byte, and ends its stream after the peer's has ended and been sent back. It
/// reads on only when what it read is written, so a peer that does not read is not read from.
void send_back(socket peer) {
  // Small writes in a row would otherwise wait for the acknowledgement of the one before.
  static_cast<void>(peer.set_no_delay(true));
  std::array<std::byte, 4096> buffer;  // a fraction of the smallest stack
  for (;;) {
    const result<std::size_t> got = peer.read(buffer);
    if (!got || *got == 0) return;
    if (!peer.write_all(std::span(buffer).first(*got))) return;
  }
}

}  // namespace

extern const application echo{"echo", {}, make_stateless<send_back>};

}  // namespace heddle::servers
