#pragma once

#include <cerrno>
#include <span>
#include <string>
#include <system_error>

#include <heddle/pollers/ring.hpp>

/// Definitions of ring_maker's members, for the files that instantiate it.

namespace heddle {

namespace detail {

std::string why_refused(int error, bool with_thread);
void require_operations(io_uring& ring);
bool knows_poll_first(io_uring& ring);
bool knows_armed_receive(io_uring& ring);

}  // namespace detail

template <class Kernel>
ring_maker<Kernel>::ring_maker(unsigned entries, unsigned sqpoll_idle_ms)
    : entries_(entries), sqpoll_idle_ms_(sqpoll_idle_ms) {
  // The best first; what an older kernel does not know is peeled off, newest flag first. Without
  // deferred task runs completions are posted in any system call, which the poller allows for.
  constexpr unsigned always = IORING_SETUP_R_DISABLED | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
  constexpr unsigned without_thread[] = {
      IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
          IORING_SETUP_SUBMIT_ALL,
      IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
      IORING_SETUP_SUBMIT_ALL,
      0,
  };
  // The kernel thread posts completions too, so the flags about where that is done do not go with
  // it.
  constexpr unsigned with_thread[] = {
      IORING_SETUP_SQPOLL | IORING_SETUP_SUBMIT_ALL,
      IORING_SETUP_SQPOLL,
  };
  const std::span<const unsigned> candidates =
      sqpoll_idle_ms == 0 ? std::span<const unsigned>(without_thread) : with_thread;
  io_uring ring;
  int answer = -EINVAL;
  unsigned features = 0;
  for (const unsigned flags : candidates) {
    abilities_.setup_flags = always | flags;
    io_uring_params wanted = parameters(8);
    answer = Kernel::queue_init(4, &ring, &wanted);
    features = wanted.features;
    if (answer != -EINVAL) break;
  }
  if (answer < 0)
    throw std::system_error(-answer, std::system_category(),
                            detail::why_refused(-answer, abilities_.has_thread()));
  try {
    if (abilities_.has_thread() && (features & IORING_FEAT_SQPOLL_NONFIXED) == 0)
      throw std::system_error(ENOSYS, std::system_category(),
                              "before Linux 5.11 the thread that sqpoll_idle_ms asks for serves "
                              "registered files only");
    detail::require_operations(ring);
    if (enable_ring(ring) == 0) {
      abilities_.poll_first = detail::knows_poll_first(ring);
      abilities_.armed_receive = detail::knows_armed_receive(ring);
    }
  } catch (...) {
    io_uring_queue_exit(&ring);
    throw;
  }
  io_uring_queue_exit(&ring);
}

template <class Kernel>
io_uring_params ring_maker<Kernel>::parameters(unsigned completion_entries) const noexcept {
  io_uring_params wanted{};
  wanted.flags = abilities_.setup_flags;
  wanted.cq_entries = completion_entries;
  wanted.sq_thread_idle = sqpoll_idle_ms_;
  return wanted;
}

template <class Kernel>
void ring_maker<Kernel>::make(io_uring& ring, const io_uring* other, unsigned number,
                              unsigned count) const {
  io_uring_params wanted = parameters(entries_ * 4);
  if (abilities_.has_thread() && other != nullptr) {
    wanted.flags |= IORING_SETUP_ATTACH_WQ;
    wanted.wq_fd = static_cast<unsigned>(other->ring_fd);
  }
  const int answer = Kernel::queue_init(entries_, &ring, &wanted);
  if (answer < 0) {
    throw std::system_error(-answer, std::system_category(),
                            "ring " + std::to_string(number) + " of " + std::to_string(count) +
                                ": " + detail::why_refused(-answer, abilities_.has_thread()));
  }
}

}  // namespace heddle
