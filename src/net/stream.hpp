#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include <heddle/base/clock.hpp>
#include <heddle/base/result.hpp>
#include <heddle/pollers/descriptor.hpp>
#include <heddle/pollers/operation.hpp>

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
  /// Does `operation` in the calling fiber, named `name` where there is none. Answers as
  /// worker::perform.
  static int perform(operation& operation, const char* name, deadline limit);

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

/// What carries bytes in both directions, or in one; the operations say by which system calls.
template <operation_kind Read, operation_kind Write>
class basic_stream : public stream_base {
 public:
  using stream_base::stream_base;

  /// Reads at least one byte; 0 means that the stream has ended, or that `buffer` is empty.
  result<std::size_t> read(std::span<std::byte> buffer, deadline limit = {});

  /// Writes at least one byte unless `data` is empty.
  result<std::size_t> write(std::span<const std::byte> data, deadline limit = {});

  /// Writes everything; on an error part of it may have been written.
  result<void> write_all(std::span<const std::byte> data, deadline limit = {});

 private:
  result<std::size_t> transfer(operation_kind kind, const void* memory, std::size_t bytes,
                               const char* name, deadline limit);
};

extern template class basic_stream<operation_kind::receive, operation_kind::send>;
extern template class basic_stream<operation_kind::read, operation_kind::write>;

/// A file that is no socket, read and written at its position: a pipe, a terminal, a device, a
/// regular file.
///
/// A regular file is always ready, so with epoll its calls keep the worker as long as the disk
/// takes, and no deadline ends them. epoll needs the open file to be non-blocking; whoever shares
/// it, as a program shares its standard input with the shell, sees that. A write to a pipe without
/// a reader raises SIGPIPE, as write(2) does, and fails with broken_pipe where that is ignored.
class stream : public basic_stream<operation_kind::read, operation_kind::write> {
 public:
  using basic_stream::basic_stream;

  /// Takes ownership of `fd`. Errors: bad_file_descriptor when it is none.
  static result<stream> adopt(int fd);
};

}  // namespace heddle
