#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/socket.h>

#include <heddle/pollers/descriptor.hpp>
#include <heddle/pollers/ring_entry.hpp>
#include <heddle/time/timer_wheel.hpp>

namespace heddle {

class fiber;
class worker;

/// Those that use the direction of reading come first.
enum class operation_kind : std::uint8_t { accept, receive, read, send, connect, write };

/// One pending call on a descriptor, with its result. Lives in the frame of the fiber that waits
/// for it; the kernel may own the buffer until the operation is complete.
struct alignas(16) operation : timer, ring_entry {
  operation(operation_kind what, file_reference on, void* memory, std::size_t size) noexcept
      : kind(what), generation(on.generation()), target(on.target()), buffer(memory), bytes(size) {}

  direction side() const noexcept {
    return kind <= operation_kind::read ? direction::read : direction::write;
  }

  const operation_kind kind;
  const std::uint16_t generation;
  /// Set by the timer or the closer that ends the wait: the negated error number, or 0.
  int interrupted = 0;
  /// What the kernel answered, or a negated error number.
  int outcome = 0;
  descriptor& target;
  void* const buffer;
  const std::size_t bytes;
  /// Connect: where to.
  const sockaddr* address = nullptr;
  socklen_t address_bytes = 0;

  /// Of a receive: there is more than was handed over.
  bool more_to_read = false;
  /// Of one that waits for a flow: `outcome` holds its answer.
  bool answered = false;

  fiber* waiting = nullptr;
  /// The poller whose ring holds this, as a member of one of its lists.
  void* ring_owner = nullptr;
  /// The worker that holds this as an armed timer; nullptr when it is none.
  worker* timer_home = nullptr;
};

}  // namespace heddle
