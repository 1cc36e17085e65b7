#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <heddle/base/unique_fd.hpp>
#include <heddle/net/socket.hpp>
#include <heddle/time/sleep.hpp>

namespace heddle {
namespace {

result<unique_fd> stream_socket(int family) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return system_error_code(errno);
  return unique_fd(fd);
}

result<void> set_option(int fd, int level, int option, bool on) noexcept {
  const int value = on;
  if (::setsockopt(fd, level, option, &value, sizeof value) != 0) return system_error_code(errno);
  return {};
}

result<endpoint> endpoint_of(int fd, int (*ask)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  if (ask(fd, reinterpret_cast<sockaddr*>(&storage), &bytes) != 0) return system_error_code(errno);
  if (storage.ss_family != AF_INET && storage.ss_family != AF_INET6)
    return std::errc::address_family_not_supported;
  return endpoint(storage);
}

/// accept(2) answers errors of the connection, and passing ones of the network, as its own.
bool is_of_the_connection(int error) {
  switch (error) {
    case ECONNABORTED:
    case EINTR:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return true;
    default:
      return false;
  }
}

bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/// At most one line a second.
void report_shortage(int error) {
  static std::atomic<std::uint64_t> next_report_ns{0};  // relaxed: only spaces out the lines
  const std::uint64_t now = now_ns();
  std::uint64_t next = next_report_ns.load(std::memory_order_relaxed);
  if (now < next ||
      !next_report_ns.compare_exchange_strong(next, now + 1'000'000'000, std::memory_order_relaxed))
    return;
  std::fprintf(stderr, "heddle: accept waits: %s\n", std::strerror(error));
}

}  // namespace

result<socket> socket::connect(const endpoint& remote, deadline limit) {
  result<unique_fd> fd = stream_socket(remote.family());
  if (!fd) return fd.error();
  socket made(descriptor::open(fd->release()));
  operation operation(operation_kind::connect, made.file(), nullptr, 0);
  operation.address = remote.address();
  operation.address_bytes = remote.address_bytes();
  const int answer = perform(operation, "connect", limit);
  if (answer < 0) return system_error_code(-answer);
  return made;
}

result<void> socket::shutdown(int how) noexcept {
  if (::shutdown(native_handle(), how) != 0) return system_error_code(errno);
  return {};
}

result<endpoint> socket::local_endpoint() const {
  return endpoint_of(native_handle(), ::getsockname);
}

result<endpoint> socket::remote_endpoint() const {
  return endpoint_of(native_handle(), ::getpeername);
}

result<void> socket::set_no_delay(bool on) noexcept {
  return set_option(native_handle(), IPPROTO_TCP, TCP_NODELAY, on);
}

result<listener> listener::bind(const endpoint& local, listen_options options) {
  result<unique_fd> fd = stream_socket(local.family());
  if (!fd) return fd.error();
  const int number = fd->get();
  if (const auto set = set_option(number, SOL_SOCKET, SO_REUSEADDR, true); !set) return set.error();
  if (options.reuse_port) {
    if (const auto set = set_option(number, SOL_SOCKET, SO_REUSEPORT, true); !set)
      return set.error();
  }
  if (::bind(number, local.address(), local.address_bytes()) != 0 ||
      ::listen(number, options.backlog) != 0)
    return system_error_code(errno);
  return listener(descriptor::open(fd->release()));
}

result<socket> listener::accept(deadline limit) {
  for (;;) {
    if (!is_open()) return std::errc::bad_file_descriptor;
    operation operation(operation_kind::accept, file(), nullptr, 0);
    const int answer = perform(operation, "accept", limit);
    if (answer >= 0) return socket(descriptor::open(answer));
    // One deadline for all tries: a duration counts from the first.
    const std::uint64_t end_ns = limit.at_ns();
    if (is_of_the_connection(-answer)) continue;
    if (!is_shortage(-answer)) return system_error_code(-answer);
    report_shortage(-answer);
    const std::uint64_t now = now_ns();
    if (now >= end_ns) return std::errc::timed_out;
    // The backlog keeps the connection; nothing tells when a descriptor is freed elsewhere.
    const std::chrono::nanoseconds pause(std::min<std::uint64_t>(50'000'000, end_ns - now));
    if (const auto slept = sleep_for(pause); !slept) return slept.error();
  }
}

result<endpoint> listener::local_endpoint() const {
  return endpoint_of(native_handle(), ::getsockname);
}

}  // namespace heddle
