#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include <heddle/base/clock.hpp>
#include <heddle/base/result.hpp>
#include <heddle/net/endpoint.hpp>
#include <heddle/pollers/descriptor.hpp>

namespace heddle {

/// Owns an open file whose calls suspend the fiber instead of blocking the thread.
///
/// Threads: one fiber may read while another writes. A second user of one direction gets
/// device_or_resource_busy. close() may be called by any thread at any time: an operation under way
/// ends with operation_canceled and never touches a file that gets the same number later;
/// operations on a closed one fail with bad_file_descriptor. Errors of every call that may wait,
/// besides the system's: timed_out at the deadline, operation_canceled when the runtime stops. They
/// throw std::logic_error outside a fiber.
class stream_base {
 public:
  stream_base() = default;
  explicit stream_base(file_reference file) noexcept : file_(file.tag()) {}
  stream_base(stream_base&& other) noexcept : file_(other.exchange({})) {}
  stream_base& operator=(stream_base&& other) noexcept {
    const file_reference taken(other.exchange({}));
    static_cast<void>(close());
    exchange(taken);
    return *this;
  }
  ~stream_base() { static_cast<void>(close()); }

  bool is_open() const noexcept { return static_cast<bool>(file()); }
  /// The descriptor, for options that have no call here; -1 when not open.
  int native_handle() const noexcept;

  /// Errors: bad_file_descriptor when closed already.
  result<void> close() noexcept;

 protected:
  file_reference file() const noexcept {
    return file_reference(file_.load(std::memory_order_relaxed));
  }

 private:
  // Relaxed: the descriptor outlives every file; its own words order what is done with it.
  std::uint64_t exchange(file_reference next) noexcept {
    return file_.exchange(next.tag(), std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> file_{0};  // the tag of a file_reference
};

/// A connected stream socket.
class socket : public stream_base {
 public:
  using stream_base::stream_base;

  static result<socket> connect(const endpoint& remote, deadline limit = {});

  /// Reads at least one byte; 0 means that the peer has ended its stream, or that `buffer` is
  /// empty.
  result<std::size_t> read(std::span<std::byte> buffer, deadline limit = {});

  /// Writes at least one byte unless `data` is empty.
  result<std::size_t> write(std::span<const std::byte> data, deadline limit = {});

  /// Writes everything; on an error part of it may have been written.
  result<void> write_all(std::span<const std::byte> data, deadline limit = {});

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
