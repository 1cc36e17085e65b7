#include <algorithm>
#include <atomic>
#include <limits>

#include <sys/syscall.h>
#include <time.h>

#include <heddle/pollers/kernel.hpp>

namespace heddle {

int linux_kernel::epoll_wait(int epoll, epoll_event* events, int most,
                             std::uint64_t timeout_ns) noexcept {
  if (timeout_ns == 0 || timeout_ns == never_ns) {
    const int timeout_ms = timeout_ns == 0 ? 0 : -1;
    return answer(::syscall(SYS_epoll_pwait, epoll, events, most, timeout_ms, nullptr, 0));
  }
  // Relaxed: a hint; a stale value costs one refused call.
  static std::atomic<bool> has_pwait2{true};
  if (has_pwait2.load(std::memory_order_relaxed)) {
    timespec timeout;
    timeout.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000u);
    timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000u);
    const int answered = answer(::epoll_pwait2(epoll, events, most, &timeout, nullptr));
    if (answered != -ENOSYS && answered != -EPERM) return answered;
    has_pwait2.store(false, std::memory_order_relaxed);
  }
  const std::uint64_t ms =
      std::min<std::uint64_t>((timeout_ns + 999'999) / 1'000'000, std::numeric_limits<int>::max());
  return answer(::epoll_wait(epoll, events, most, static_cast<int>(ms)));
}

}  // namespace heddle
