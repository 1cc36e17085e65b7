#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "common/file_descriptor.hpp"

namespace peers {

inline constexpr int backlog_connections = 1024;

/// How a peer spreads connections over its workers.
enum class peer_kind {
  shared,   // one listener; work may move between threads
  prefork,  // one SO_REUSEPORT listener a worker; a connection stays on its thread
};

/// An IPv4 or IPv6 address with a port, as bind(2) takes it.
struct socket_address {
  sockaddr_storage storage{};
  socklen_t length_bytes = 0;
};

/// `host` in digits (127.0.0.1, ::1), never a name to look up; nothing if it is no such address.
std::optional<socket_address> parse_address(const std::string& host, std::uint16_t port);

/// As in "127.0.0.1:8080" and "[::1]:8080".
std::string to_string(const socket_address& address);

struct listeners {
  std::vector<file_descriptor> sockets;  // not blocking; one, or one a worker under prefork
  socket_address address;                // with the port that the system chose, if it was 0
};

/// Throws std::system_error when the address cannot be had, also when a server of the same user
/// already has it with SO_REUSEPORT: two prefork servers would otherwise share a port unnoticed.
/// `no_delay`: what they accept has TCP_NODELAY, which a socket has from its listener.
listeners open_listeners(const socket_address& where, peer_kind kind, unsigned workers,
                         bool no_delay);

/// AF_INET or AF_INET6.
int address_family(int socket);

}  // namespace peers
