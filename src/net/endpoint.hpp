#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <netinet/in.h>
#include <sys/socket.h>

#include <heddle/base/result.hpp>

namespace heddle {

/// An IPv4 or IPv6 address with a port.
class endpoint {
 public:
  /// `host`: numeric IPv4 or IPv6, the latter with or without brackets, or "localhost" for
  /// 127.0.0.1. Nothing is looked up, so nothing blocks. Errors: std::invalid_argument that says
  /// what is allowed.
  endpoint(std::string_view host, std::uint16_t port);

  /// From what the kernel answered. Errors: std::invalid_argument for another family.
  explicit endpoint(const sockaddr_storage& storage);

  int family() const noexcept { return storage_.ss_family; }
  std::uint16_t port() const noexcept;
  const sockaddr* address() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t address_bytes() const noexcept;

  /// "127.0.0.1:80" or "[::1]:80".
  std::string to_string() const;

 private:
  sockaddr_storage storage_{};
};

}  // namespace heddle
