#pragma once

#include <cstddef>
#include <cstdint>

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <heddle/base/clock.hpp>

namespace heddle {

/// The system calls that pollers make, as static functions that answer a negated error number
/// instead of errno. Tests put other kernels in its place, to inject faults where seccomp and
/// strace cannot reach.
struct linux_kernel {
  static int accept(int fd) noexcept {
    return answer(::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC));
  }
  // The calls that every request makes go past the C library's wrappers: those are points of thread
  // cancellation, which costs two atomic updates each.
  static int receive(int fd, void* buffer, std::size_t bytes) noexcept {
    return answer(::syscall(SYS_recvfrom, fd, buffer, bytes, MSG_DONTWAIT, nullptr, nullptr));
  }
  static int send(int fd, const void* buffer, std::size_t bytes) noexcept {
    return answer(
        ::syscall(SYS_sendto, fd, buffer, bytes, MSG_DONTWAIT | MSG_NOSIGNAL, nullptr, 0));
  }
  static int connect(int fd, const sockaddr* address, socklen_t bytes) noexcept {
    return answer(::connect(fd, address, bytes));
  }
  static int read(int fd, void* buffer, std::size_t bytes) noexcept {
    return answer(::read(fd, buffer, bytes));
  }
  static int write(int fd, const void* buffer, std::size_t bytes) noexcept {
    return answer(::write(fd, buffer, bytes));
  }
  static int set_nonblocking(int fd, bool on) noexcept {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0) return -errno;
    return answer(::fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK));
  }
  /// The result of a connection attempt that was under way.
  static int connect_outcome(int fd) noexcept {
    int error = 0;
    socklen_t bytes = sizeof error;
    const int answered = answer(::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes));
    return answered < 0 ? answered : -error;
  }

  static int epoll_create() noexcept { return answer(::epoll_create1(EPOLL_CLOEXEC)); }
  static int epoll_add(int epoll, int fd, std::uint32_t events, std::uint64_t tag) noexcept {
    epoll_event event{};
    event.events = events;
    event.data.u64 = tag;
    return answer(::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
  }
  /// Waits at most `timeout_ns`; never_ns without end.
  static int epoll_wait(int epoll, epoll_event* events, int most,
                        std::uint64_t timeout_ns) noexcept;

  static int eventfd() noexcept { return answer(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)); }
  static void eventfd_add(int fd) noexcept {
    const std::uint64_t one = 1;
    // Can only fail when the counter is full, and then the reader has been told already.
    [[maybe_unused]] const long written = ::syscall(SYS_write, fd, &one, sizeof one);
  }

  static void eventfd_take(int fd) noexcept {
    std::uint64_t count;
    [[maybe_unused]] const ssize_t got = ::read(fd, &count, sizeof count);
  }

  static std::uint64_t now_ns() noexcept { return heddle::now_ns(); }

 private:
  // Not across a suspension: the errno of this thread, right after the call.
  template <class Answer>
  static int answer(Answer answered) noexcept {
    return answered < 0 ? -errno : static_cast<int>(answered);
  }
};

}  // namespace heddle
