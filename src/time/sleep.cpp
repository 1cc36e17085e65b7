#include <heddle/fibers/worker.hpp>
#include <heddle/time/sleep.hpp>

namespace heddle {
namespace {

struct sleeper : timer {
  explicit sleeper(fiber& waiting) noexcept : timer(expire), who(waiting) {}

  static void expire(timer& expired) noexcept { wake(static_cast<sleeper&>(expired).who); }

  fiber& who;
  bool cancelled = false;
};

}  // namespace

result<void> sleep(deadline deadline) {
  worker& self = require_worker("sleep");
  const std::uint64_t at = deadline.at_ns();
  if (at <= now_ns()) {
    self.yield();
    return {};
  }
  if (self.stopping()) {
    self.yield();  // who tries for ever must not keep the worker
    return std::errc::operation_canceled;
  }
  sleeper sleeping(*self.running());
  self.suspend([&](fiber&) noexcept {
    self.arm(sleeping, at);
    return true;
  });
  if (sleeping.cancelled) return std::errc::operation_canceled;
  return {};
}

bool is_sleep(const timer& armed) noexcept { return armed.expired == sleeper::expire; }

void cancel_sleep(timer& disarmed) noexcept {
  auto& sleeping = static_cast<sleeper&>(disarmed);
  sleeping.cancelled = true;
  wake(sleeping.who);
}

}  // namespace heddle
