#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>

#include <heddle/fibers/worker.hpp>
#include <heddle/pollers/operation.hpp>

namespace heddle {

/// How an operation waits, in the word of its direction, until its descriptor becomes ready, and
/// how the wait and its use of the direction end.

/// The fiber gives the direction back. False: it was closed meanwhile.
inline bool give_back(operation& op, bool still_ready) noexcept {
  if (!op.target.side(op.side()).end(still_ready)) return true;
  release({op.target, op.generation}, op.side());
  return false;
}

inline void disarm(operation& op, worker* canceller) noexcept {
  if (op.timer_home == nullptr) return;
  op.timer_home->disarm(op, canceller);
  op.timer_home = nullptr;
}

/// Ends the wait of an operation that the caller has claimed.
inline void interrupt(operation& op, int why, worker* canceller) noexcept {
  disarm(op, canceller);
  op.interrupted = why;
  wake(*op.waiting);
}

namespace detail {

inline void expire_wait(timer& expired) noexcept {
  auto& op = static_cast<operation&>(expired);
  // Out of the wheel already; whoever claims the operation now must not look for it there.
  if (op.target.side(op.side()).claim(op, op.generation)) {
    op.interrupted = -ETIMEDOUT;
    wake(*op.waiting);
  }
}

}  // namespace detail

/// Waits until a try may succeed, or whoever claims the operation has answered it; then the
/// direction is held. Otherwise the negated error number. In a fiber of `self`, which goes on under
/// any worker.
inline int wait_until_ready(worker& self, operation& op, descriptor_side& side, bool& held,
                            deadline& limit) noexcept {
  // The worker notices a stop on its own thread, so not between this look and the publication.
  if (self.stopping() && op.side() == direction::read) {
    self.yield();  // who tries for ever must not keep the worker
    return -ECANCELED;
  }
  const std::uint64_t at_ns = limit.at_ns();
  if (at_ns == 0) return -ETIMEDOUT;

  op.interrupted = 0;
  op.expired = detail::expire_wait;
  if (op.side() == direction::read) self.counters().suspended_reads.add();
  auto refused = descriptor_side::waited::published;
  self.suspend([&](fiber& waiting) noexcept {
    op.waiting = &waiting;
    if (at_ns != never_ns) {
      op.timer_home = &self;
      self.arm(op, at_ns);
    }
    const auto waited = side.wait(op, op.generation, held);
    if (waited == descriptor_side::waited::published) return true;
    disarm(op, &self);
    refused = waited;
    return false;
  });
  switch (refused) {
    case descriptor_side::waited::busy:
      return -EBUSY;
    case descriptor_side::waited::closed:
      return held ? -ECANCELED : -EBADF;
    default:
      held = true;
      return op.interrupted;
  }
}

/// A read of what an armed receive has left, which is armed no longer. As worker::perform.
inline int read_unread(operation& op, deadline limit) noexcept {
  descriptor_side& side = op.target.side(direction::read);
  const auto begun = side.begin_at(0, op.generation);
  if (begun == descriptor_side::begun::closed) return -EBADF;
  if (begun == descriptor_side::begun::busy) return -EBUSY;
  const std::optional<int> taken = op.target.flow.take(op.buffer, op.bytes);
  const bool open = give_back(op, true);
  if (taken) return *taken;
  // Another fiber has just read it.
  return open ? current_worker()->perform(op, limit) : -ECANCELED;
}

}  // namespace heddle
