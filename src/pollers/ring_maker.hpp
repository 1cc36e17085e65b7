#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include <heddle/pollers/ring.hpp>

/// Definitions of ring_maker's members, for the files that instantiate it.

namespace heddle {

namespace detail {

std::string why_refused(int error);
void require_operations(io_uring& ring);
bool knows_poll_first(io_uring& ring);

}  // namespace detail

template <class Kernel>
ring_maker<Kernel>::ring_maker(unsigned entries) : entries_(entries) {
  // The best first; what an older kernel does not know is peeled off, newest flag first. Without
  // deferred task runs completions are posted in any system call, which the poller allows for.
  constexpr unsigned always = IORING_SETUP_R_DISABLED | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
  constexpr unsigned candidates[] = {
      IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
          IORING_SETUP_SUBMIT_ALL,
      IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
      IORING_SETUP_SUBMIT_ALL,
      0,
  };
  io_uring ring;
  int answer = -EINVAL;
  for (const unsigned flags : candidates) {
    abilities_.setup_flags = always | flags;
    io_uring_params parameters{};
    parameters.flags = abilities_.setup_flags;
    parameters.cq_entries = 8;
    answer = Kernel::queue_init(4, &ring, &parameters);
    if (answer != -EINVAL) break;
  }
  if (answer < 0)
    throw std::system_error(-answer, std::system_category(), detail::why_refused(-answer));
  try {
    detail::require_operations(ring);
    abilities_.poll_first = enable_ring(ring) == 0 && detail::knows_poll_first(ring);
  } catch (...) {
    io_uring_queue_exit(&ring);
    throw;
  }
  io_uring_queue_exit(&ring);
}

template <class Kernel>
void ring_maker<Kernel>::make(io_uring& ring, unsigned number, unsigned count) const {
  io_uring_params parameters{};
  parameters.flags = abilities_.setup_flags;
  parameters.cq_entries = entries_ * 4;
  const int answer = Kernel::queue_init(entries_, &ring, &parameters);
  if (answer < 0) {
    throw std::system_error(-answer, std::system_category(),
                            "ring " + std::to_string(number) + " of " + std::to_string(count) +
                                ": " + detail::why_refused(-answer));
  }
}

}  // namespace heddle
