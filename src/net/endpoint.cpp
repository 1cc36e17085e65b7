#include <cstring>
#include <stdexcept>

#include <arpa/inet.h>

#include <heddle/net/endpoint.hpp>

namespace heddle {

endpoint::endpoint(std::string_view host, std::uint16_t port) {
  std::string text(host == "localhost" ? "127.0.0.1" : host);
  if (text.size() > 2 && text.front() == '[' && text.back() == ']')
    text = text.substr(1, text.size() - 2);
  auto& v4 = reinterpret_cast<sockaddr_in&>(storage_);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(storage_);
  if (text.find('\0') != std::string::npos) text.clear();  // a C string would end there
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
  } else if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
  } else {
    throw std::invalid_argument("host '" + std::string(host.substr(0, host.find('\0'))) +
                                "' is not allowed; a numeric IPv4 or IPv6 address, or localhost");
  }
}

endpoint::endpoint(const sockaddr_storage& storage) : storage_(storage) {
  if (family() != AF_INET && family() != AF_INET6)
    throw std::invalid_argument("an address that is neither IPv4 nor IPv6");
}

std::uint16_t endpoint::port() const noexcept {
  return ntohs(family() == AF_INET ? reinterpret_cast<const sockaddr_in&>(storage_).sin_port
                                   : reinterpret_cast<const sockaddr_in6&>(storage_).sin6_port);
}

socklen_t endpoint::address_bytes() const noexcept {
  return family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

std::string endpoint::to_string() const {
  char text[INET6_ADDRSTRLEN] = {};
  const void* address =
      family() == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(storage_).sin_addr)
          : static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(storage_).sin6_addr);
  inet_ntop(family(), address, text, sizeof text);
  std::string host(text);
  if (family() == AF_INET6) host.append("]").insert(host.begin(), '[');
  return host.append(":").append(std::to_string(port()));
}

}  // namespace heddle
