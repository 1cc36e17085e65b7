#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>

#include <sys/resource.h>
#include <sys/socket.h>

#include <heddle/base/clock.hpp>
#include <heddle/base/unique_fd.hpp>
#include <heddle/pollers/buffer_ring.hpp>
#include <heddle/pollers/ring.hpp>
#include <heddle/pollers/ring_maker.hpp>

namespace heddle {

int linux_ring_kernel::submit_and_wait(io_uring* ring, std::uint64_t timeout_ns) noexcept {
  if (timeout_ns == never_ns) return ::io_uring_submit_and_wait(ring, 1);
  __kernel_timespec timeout;
  timeout.tv_sec = static_cast<std::int64_t>(timeout_ns / 1'000'000'000u);
  timeout.tv_nsec = static_cast<long long>(timeout_ns % 1'000'000'000u);
  io_uring_cqe* completion = nullptr;
  return ::io_uring_submit_and_wait_timeout(ring, &completion, 1, &timeout, nullptr);
}

bool linux_ring_kernel::hand_over(io_uring* ring) noexcept {
  // For the count alone: liburing looks again, after a barrier that the thread's own look pairs
  // with.
  const bool calls =
      (IO_URING_READ_ONCE(*ring->sq.kflags) & (IORING_SQ_NEED_WAKEUP | IORING_SQ_CQ_OVERFLOW)) != 0;
  ::io_uring_submit(ring);
  return calls;
}

int enable_ring(io_uring& ring) noexcept {
  // Not io_uring_enable_rings: liburing 2.3 declares it and does not export it.
  const int enabled = ::io_uring_register(static_cast<unsigned>(ring.ring_fd),
                                          IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
  if (enabled < 0) return enabled;
  // Spares the kernel a look-up at each call; without it everything works too.
  ::io_uring_register_ring_fd(&ring);
  return 0;
}

namespace detail {

std::string why_refused(int error, bool with_thread) {
  switch (error) {
    case EPERM:
    case EACCES: {
      std::string reason = "the system forbids io_uring: a seccomp filter (as in containers)";
      std::ifstream file("/proc/sys/kernel/io_uring_disabled");
      if (int disabled = 0; file >> disabled && disabled != 0)
        reason = "the system forbids io_uring: sysctl kernel.io_uring_disabled is " +
                 std::to_string(disabled);
      if (with_thread) reason += "; or only the kernel thread that sqpoll_idle_ms asks for";
      return reason;
    }
    case ENOSYS:
      return "the kernel has no io_uring, or a seccomp filter hides it";
    case ENOMEM: {
      rlimit limit{};
      getrlimit(RLIMIT_MEMLOCK, &limit);
      return "no memory for an io_uring; locked memory is limited to " +
             std::to_string(limit.rlim_cur) + " bytes for all rings of the user (ulimit -l)";
    }
    case EMFILE:
    case ENFILE:
      return "no descriptor left for an io_uring (ulimit -n)";
    default:
      return with_thread ? "io_uring cannot be set up, or not with sqpoll_idle_ms"
                         : "io_uring cannot be set up";
  }
}

/// Operations that the poller needs, by what a kernel must have for them.
void require_operations(io_uring& ring) {
  const std::unique_ptr<io_uring_probe, decltype(&io_uring_free_probe)> probe(
      io_uring_get_probe_ring(&ring), io_uring_free_probe);
  for (const int needed :
       {IORING_OP_ACCEPT, IORING_OP_RECV, IORING_OP_SEND, IORING_OP_CONNECT, IORING_OP_READ,
        IORING_OP_WRITE, IORING_OP_ASYNC_CANCEL, IORING_OP_POLL_ADD}) {
    if (!probe || !io_uring_opcode_supported(probe.get(), needed)) {
      throw std::system_error(ENOSYS, std::system_category(),
                              "this kernel's io_uring lacks operation " + std::to_string(needed));
    }
  }
}

namespace {

/// Lets `prepare(entry, fd)` ask for a receive from a socket that holds one byte. True if the byte
/// came, in a completion with all of `flags`.
template <class Prepare>
bool receives_a_byte(io_uring& ring, std::uint32_t flags, Prepare prepare) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return false;
  const unique_fd left(pair[0]);
  const unique_fd right(pair[1]);
  const char byte = 0;
  if (::send(left.get(), &byte, 1, MSG_NOSIGNAL) != 1) return false;
  prepare(*io_uring_get_sqe(&ring), right.get());
  if (io_uring_submit_and_wait(&ring, 1) < 0) return false;
  io_uring_cqe* completion = nullptr;
  if (io_uring_peek_cqe(&ring, &completion) != 0) return false;
  const bool received = completion->res == 1 && (completion->flags & flags) == flags;
  io_uring_cqe_seen(&ring, completion);
  return received;
}

}  // namespace

// No probe tells of flags: they are tried.

/// Whether a receive may ask to be polled first.
bool knows_poll_first(io_uring& ring) {
  char byte;
  return receives_a_byte(ring, 0, [&byte](io_uring_sqe& entry, int fd) {
    io_uring_prep_recv(&entry, fd, &byte, 1, 0);
    entry.ioprio |= IORING_RECVSEND_POLL_FIRST;
  });
}

/// Whether a receive can stay armed. The ring must be closed after this.
bool knows_armed_receive(io_uring& ring) {
  buffer_ring buffers(1);
  if (!buffers.register_with(ring)) return false;
  const bool knows =
      receives_a_byte(ring, IORING_CQE_F_MORE | IORING_CQE_F_BUFFER, prepare_armed_receive);
  io_uring_unregister_buf_ring(&ring, buffer_ring::group);
  return knows;
}

}  // namespace detail

template class ring_maker<linux_ring_kernel>;

}  // namespace heddle
