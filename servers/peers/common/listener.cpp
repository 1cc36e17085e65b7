#include "common/listener.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

namespace peers {
namespace {

void enable(int socket, int level, int option, const char* what) {
  const int on = 1;
  checked(::setsockopt(socket, level, option, &on, sizeof on), what);
}

file_descriptor bound_socket(const socket_address& where, bool share_port) {
  const int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  file_descriptor socket(checked(::socket(where.storage.ss_family, type, 0), "socket"));
  enable(socket.get(), SOL_SOCKET, SO_REUSEADDR, "SO_REUSEADDR");
  if (share_port) enable(socket.get(), SOL_SOCKET, SO_REUSEPORT, "SO_REUSEPORT");
  checked(
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&where.storage), where.length_bytes),
      "bind");
  return socket;
}

file_descriptor listening_socket(const socket_address& where, bool share_port) {
  file_descriptor socket = bound_socket(where, share_port);
  checked(::listen(socket.get(), backlog_connections), "listen");
  return socket;
}

socket_address local_address(int socket) {
  socket_address address;
  address.length_bytes = sizeof address.storage;
  checked(
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&address.storage), &address.length_bytes),
      "getsockname");
  return address;
}

}  // namespace

std::optional<socket_address> parse_address(const std::string& host, std::uint16_t port) {
  socket_address address;
  auto& ipv4 = reinterpret_cast<sockaddr_in&>(address.storage);
  if (::inet_pton(AF_INET, host.c_str(), &ipv4.sin_addr) == 1) {
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(port);
    address.length_bytes = sizeof ipv4;
    return address;
  }
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(address.storage);
  if (::inet_pton(AF_INET6, host.c_str(), &ipv6.sin6_addr) == 1) {
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(port);
    address.length_bytes = sizeof ipv6;
    return address;
  }
  return {};
}

std::string to_string(const socket_address& address) {
  char host[INET6_ADDRSTRLEN] = "";
  if (address.storage.ss_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address.storage);
    ::inet_ntop(AF_INET, &ipv4.sin_addr, host, sizeof host);
    return std::string(host) + ":" + std::to_string(ntohs(ipv4.sin_port));
  }
  const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
  ::inet_ntop(AF_INET6, &ipv6.sin6_addr, host, sizeof host);
  return std::string("[").append(host) + "]:" + std::to_string(ntohs(ipv6.sin6_port));
}

listeners open_listeners(const socket_address& where, peer_kind kind, unsigned workers,
                         bool no_delay) {
  const bool share_port = kind == peer_kind::prefork;
  // A bind without SO_REUSEPORT fails if anyone listens; the bind that follows would not.
  if (share_port) bound_socket(where, false);
  listeners opened;
  opened.sockets.push_back(listening_socket(where, share_port));
  opened.address = local_address(opened.sockets.front().get());
  while (share_port && opened.sockets.size() < workers) {
    opened.sockets.push_back(listening_socket(opened.address, share_port));
  }
  for (const file_descriptor& socket : opened.sockets) {
    if (no_delay) enable(socket.get(), IPPROTO_TCP, TCP_NODELAY, "TCP_NODELAY");
  }
  return opened;
}

int address_family(int socket) { return local_address(socket).storage.ss_family; }

}  // namespace peers
