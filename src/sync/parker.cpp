#include <heddle/base/futex.hpp>
#include <heddle/base/opaque.hpp>
#include <heddle/sync/parker.hpp>

namespace heddle {
namespace {

HEDDLE_OPAQUE const void* identity_of_thread() noexcept {
  HEDDLE_OPAQUE_BODY;
  thread_local constinit char identity = 0;
  return &identity;
}

}  // namespace

void parker::wake() noexcept {
  switch (kind_) {
    case kind::untimed:
      return waiting_.wake();
    case kind::timed_fiber:
      // The worker outlives its suspended fiber, wherever that continues.
      waiting_.home()->disarm(*this, current_worker());
      return waiting_.wake();
    case kind::timed_thread:
      // Once the store is seen the parker may be gone. The kernel only looks its address up; at
      // worst another sleeper there looks at its word for nothing.
      const std::atomic<std::uint32_t>* word = &woken_;
      // [thread] release → acquire in wait_as_thread: what the waker did before is seen.
      woken_.store(1, std::memory_order_release);
      return futex_wake(word, 1);
  }
}

void parker::expire(timer& expired) noexcept {
  parker& self = static_cast<parker&>(expired);
  // Out of the wheel already; a waker that has claimed waits in disarm() until this has returned.
  if (self.end_.claim_by_time()) self.waiting_.wake();
}

void parker::wait_as_thread(std::uint64_t at_ns) noexcept {
  // [thread] acquire → release in wake().
  while (woken_.load(std::memory_order_acquire) == 0) {
    if (passed(at_ns)) {
      if (end_.claim_by_time()) return;
      at_ns = never_ns;  // a waker has claimed and is about to wake
    }
    futex_wait(woken_, 0, at_ns);
  }
}

const void* parker::self() noexcept {
  worker* const current = current_worker();
  if (current != nullptr && current->running() != nullptr) return current->running();
  return identity_of_thread();
}

}  // namespace heddle
