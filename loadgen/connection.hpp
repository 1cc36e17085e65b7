#pragma once

#include <cstddef>
#include <cstdint>

#include "http_reader.hpp"
#include <heddle/base/unique_fd.hpp>

namespace heddle::load {

/// One of a thread's connections; with a new connection for each request, the place of one.
struct connection {
  enum class link : std::uint8_t {
    idle,  ///< no socket, and none wanted before the next request
    connecting,
    open,
    closing,  ///< the response is here, the end of the connection is still awaited
    down,     ///< could not be opened; tried again by and by
  };

  unique_fd socket;
  link state = link::idle;
  bool counted = false;          ///< has been open before
  bool queued = false;           ///< waits for its turn: for its pause to end, or for work
  std::uint32_t generation = 0;  ///< tells events of this socket from those of the one before
  std::uint32_t outstanding = 0;
  std::uint32_t oldest = 0;            ///< in the ring of begin times
  std::uint64_t waiting_since_ns = 0;  ///< for the connection, or the next response
  std::size_t send_place = 0;
  std::size_t send_left_bytes = 0;
  std::size_t echo_place = 0;
  std::size_t echo_left_bytes = 0;
  std::size_t messages = 0;
  bool echo_differs = false;
  http_reader reader;
};

}  // namespace heddle::load
