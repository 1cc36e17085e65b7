#pragma once

#include <array>
#include <cerrno>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conformance.hpp"

/// The other side of connections: blocking sockets on plain threads, nothing of the library.
namespace heddle::conformance {

/// Bytes that no shift or loss leaves alike.
inline std::string payload(std::size_t bytes, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::string text(bytes, '\0');
  for (char& one : text) one = static_cast<char>(random());
  return text;
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

[[noreturn]] inline void throw_errno(const std::string& what) {
  throw std::system_error(errno, std::system_category(), what);
}

inline void set_size_option(int fd, int option, int bytes) {
  if (::setsockopt(fd, SOL_SOCKET, option, &bytes, sizeof bytes) != 0) throw_errno("setsockopt");
}

/// A blocking client whose calls give up, with an exception, after `patience`.
class peer {
 public:
  struct options {
    int send_buffer = 0;     ///< SO_SNDBUF, bytes; 0: the system's choice
    int receive_buffer = 0;  ///< SO_RCVBUF, bytes
  };

  explicit peer(const endpoint& server) : peer(server, options{}) {}
  peer(const endpoint& server, options sizes)
      : fd_(::socket(server.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (fd_ < 0) throw_errno("socket");
    if (sizes.send_buffer != 0) set_size_option(fd_, SO_SNDBUF, sizes.send_buffer);
    if (sizes.receive_buffer != 0) set_size_option(fd_, SO_RCVBUF, sizes.receive_buffer);
    const timeval limit{patience.count(), 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    const int one = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (::connect(fd_, server.address(), server.address_bytes()) != 0) {
      const int error = errno;
      ::close(fd_);
      errno = error;
      throw_errno("connect of a peer");
    }
  }
  peer(peer&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  peer& operator=(peer&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~peer() { close(); }

  int fd() const { return fd_; }

  void send(std::string_view data) {
    while (!data.empty()) {
      const ssize_t sent = ::send(fd_, data.data(), data.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) throw_errno("send of a peer");
      data.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  /// At least one and up to `most` bytes; none at the end of the stream.
  std::string receive_some(std::size_t most) {
    std::string data(most, '\0');
    for (;;) {
      const ssize_t got = ::recv(fd_, data.data(), most, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw_errno("receive of a peer");
      data.resize(static_cast<std::size_t>(got));
      return data;
    }
  }

  /// Exactly `bytes`, fewer only at the end of the stream.
  std::string receive(std::size_t bytes) {
    std::string data;
    while (data.size() < bytes) {
      const std::string some = receive_some(std::min<std::size_t>(bytes - data.size(), 1 << 16));
      if (some.empty()) break;
      data += some;
    }
    return data;
  }

  /// Everything up to the end of the stream.
  std::string receive_all() { return receive(std::size_t(-1)); }

  std::string ask(std::string_view question) {
    send(question);
    return receive(question.size());
  }

  void end_stream() { ::shutdown(fd_, SHUT_WR); }

  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

  /// Ends the connection with a reset.
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }

 private:
  int fd_;
};

/// Sends back what comes until the peer ends its stream.
inline void echo(socket client) {
  std::array<std::byte, 4096> buffer;
  for (;;) {
    const auto got = client.read(buffer);
    if (!got || *got == 0) return;
    if (!client.write_all(std::span(buffer).first(*got))) return;
  }
}

/// Exactly `bytes` bytes, fewer at the end of the stream or at an error.
inline std::string read_exactly(socket& from, std::size_t bytes) {
  std::string data(bytes, '\0');
  std::size_t filled = 0;
  while (filled < bytes) {
    const auto got = from.read(std::as_writable_bytes(std::span(data)).subspan(filled));
    if (!got || *got == 0) break;
    filled += *got;
  }
  data.resize(filled);
  return data;
}

inline listener listen_on_loopback(const char* host = "127.0.0.1") {
  return listener::bind({host, 0}).value();
}

/// Serves each connection with `handler(socket)` in a fiber of its own, until `talk(endpoint)`,
/// which runs on a plain thread, has returned. Afterwards nothing may be left.
template <class Handler, class Talk>
void serve(runtime_base& runtime, Handler handler, Talk talk, const char* host = "127.0.0.1") {
  std::optional<plain_thread> talker;
  {
    const waiting_for what("run() to return after the peer's talk and a stop");
    runtime.run([&] {
      listener listening = listen_on_loopback(host);
      const endpoint address = listening.local_endpoint().value();
      talker.emplace([&, address] {
        struct stop_at_end {
          runtime_base& runtime;
          ~stop_at_end() { runtime.request_stop(); }
        } const stop{runtime};
        talk(address);
      });
      for (;;) {
        auto accepted = listening.accept();
        if (!accepted) {
          EXPECT_TRUE(failed_with(accepted, std::errc::operation_canceled));
          break;
        }
        spawn(handler, std::move(*accepted));
      }
    });
  }
  talker.reset();
  expect_quiet(runtime);
}

/// A connected pair within the runtime, for tests in which both sides are fibers. In a fiber.
struct connection {
  socket near;
  socket far;
};

inline connection connect_pair() {
  listener listening = listen_on_loopback();
  connection made;
  made.near = socket::connect(listening.local_endpoint().value(), patience).value();
  made.far = listening.accept(patience).value();
  return made;
}

}  // namespace heddle::conformance
