#pragma once

#include <heddle/base/clock.hpp>
#include <heddle/base/result.hpp>
#include <heddle/net/endpoint.hpp>
#include <heddle/net/stream.hpp>

namespace heddle {

/// A connected stream socket.
class socket : public basic_stream<operation_kind::receive, operation_kind::send> {
 public:
  using basic_stream::basic_stream;

  static result<socket> connect(const endpoint& remote, deadline limit = {});

  /// Ends one or both directions for the peer, as shutdown(2): SHUT_RD, SHUT_WR, SHUT_RDWR.
  result<void> shutdown(int how) noexcept;

  result<endpoint> local_endpoint() const;
  result<endpoint> remote_endpoint() const;
  result<void> set_no_delay(bool on) noexcept;
};

struct listen_options {
  int backlog = 1024;
  bool reuse_port = false;
};

/// A listening stream socket.
class listener : public stream_base {
 public:
  using stream_base::stream_base;

  /// SO_REUSEADDR is set. Port 0: the system chooses; see local_endpoint.
  static result<listener> bind(const endpoint& local, listen_options options = {});

  /// The next connection. Connections that ended while they waited are passed over. Without a free
  /// descriptor or memory it says so on standard error, at most once a second, and waits until
  /// there is one.
  result<socket> accept(deadline limit = {});

  result<endpoint> local_endpoint() const;
};

}  // namespace heddle
