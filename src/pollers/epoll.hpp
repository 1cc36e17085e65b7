#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <system_error>

#include <heddle/base/unique_fd.hpp>
#include <heddle/fibers/worker.hpp>
#include <heddle/pollers/kernel.hpp>
#include <heddle/pollers/operation.hpp>
#include <heddle/schedulers/tuning.hpp>

namespace heddle {

/// Completions over one edge-triggered epoll that all workers share. A call is tried first; on
/// EAGAIN its descriptor is registered, once for its life, and the fiber waits for an event. Idle
/// workers block in epoll_wait together, so the kernel hands events to whoever is free, and a
/// worker that is kept busy by one fiber delays no connection. docs/decisions tells why one epoll
/// and not one a worker.
template <class Kernel>
class basic_epoll {
 public:
  static constexpr const char* name = "epoll";

  /// What all workers of a runtime share.
  class group {
   public:
    /// Errors: std::system_error when a descriptor cannot be had.
    group(unsigned /*workers*/, const tuning& /*tuning*/)
        : epoll_(checked(Kernel::epoll_create(), "epoll_create1")),
          wake_(checked(Kernel::eventfd(), "eventfd")),
          stop_(checked(Kernel::eventfd(), "eventfd")) {
      // The wake-up is edge-triggered and never read: each write is one event for one waiter. The
      // stop is level-triggered: once written, no wait blocks until silence().
      checked(Kernel::epoll_add(epoll_.get(), wake_.get(), EPOLLIN | EPOLLET, wake_tag),
              "epoll_ctl");
      checked(Kernel::epoll_add(epoll_.get(), stop_.get(), EPOLLIN, stop_tag), "epoll_ctl");
    }

    /// Wakes one worker that waits. False if it knows that none does. Threads: any.
    bool wake_one() noexcept {
      Kernel::eventfd_add(wake_.get());
      return true;
    }

    /// Ends every wait, now and later, until silence(). Threads: any.
    void wake_all() noexcept { Kernel::eventfd_add(stop_.get()); }

    /// Lets waits block again. Threads: any.
    void silence() noexcept { Kernel::eventfd_take(stop_.get()); }

    void prepare_run() noexcept {}

    /// Ends the operation that `closing` found on a direction. Threads: any.
    void cancel(file_reference, direction, const descriptor_side::closing& closing,
                worker* canceller) noexcept {
      if (closing.waiting != nullptr) interrupt(*closing.waiting, -ECANCELED, canceller);
      // One that is in its system call now ends by itself.
    }

   private:
    friend basic_epoll;

    static int checked(int answer, const char* call) {
      if (answer < 0) throw std::system_error(-answer, std::system_category(), call);
      return answer;
    }

    unique_fd epoll_;
    unique_fd wake_;
    unique_fd stop_;
  };

  basic_epoll(group& group, worker& owner, const tuning& tuning)
      : group_(group), owner_(owner), harvest_(static_cast<int>(tuning.harvest_events)) {}

  /// See worker::perform. Called in a fiber, which may go on under another worker after each wait:
  /// so nothing of this poller but the group is used.
  int perform(operation& op, deadline limit) noexcept {
    group& shared = group_;
    descriptor_side& side = op.target.side(op.side());
    const auto begun = side.begin(op.generation);
    if (begun == descriptor_side::begun::closed) return -EBADF;
    if (begun == descriptor_side::begun::busy) return -EBUSY;

    bool held = begun == descriptor_side::begun::tried;
    for (;;) {
      worker& self = *current_worker();
      if (held) {
        const int answer = attempt(op, self.counters());
        if (answer != -EAGAIN) return end(op, side, answer);
        if (const int error = watch(shared, op.target, self.counters()))
          return end(op, side, error);
      }
      const int interrupted = wait(self, op, side, held, limit);
      if (interrupted != 0) return held ? end(op, side, interrupted) : interrupted;
    }
  }

  bool wants_poll() const noexcept { return false; }

  /// Around a wait without work. A wake-up goes to whoever waits and is told by wait_for_events.
  void prepare_sleep() noexcept {}
  bool end_sleep() noexcept { return false; }

  /// Waits for events and makes ready whose operations they complete. True if a wake-up came.
  /// Threads: the owner's.
  bool wait_for_events(std::uint64_t timeout_ns) noexcept {
    worker_counters& counters = owner_.counters();
    counters.syscalls_wait.add();
    std::array<epoll_event, most_events> events;
    const int count = Kernel::epoll_wait(group_.epoll_.get(), events.data(), harvest_, timeout_ns);
    bool woken = false;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t tag = events[static_cast<std::size_t>(i)].data.u64;
      const std::uint32_t what = events[static_cast<std::size_t>(i)].events;
      if (tag == wake_tag) woken = true;
      if (tag == stop_tag) alarmed_ = true;
      if (tag == wake_tag || tag == stop_tag) continue;
      const file_reference file(tag);
      descriptor& target = file.target();
      if (file.generation() != target.generation()) continue;  // a late event of an earlier file
      constexpr std::uint32_t ends = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
      if ((what & ends) != 0) target.hung_up.store(true, std::memory_order_release);
      if ((what & (EPOLLIN | ends)) != 0) complete(file, direction::read);
      if ((what & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) complete(file, direction::write);
    }
    return woken;
  }

  /// True once after a wait that wake_all ended.
  bool was_alarmed() noexcept { return std::exchange(alarmed_, false); }

  /// Called on the owner's thread at its start and end.
  void enter_thread() noexcept {}
  void leave_thread() noexcept {}

  /// Ends, with ECANCELED, what waits for input or connections of this runtime. Threads: the
  /// owner's.
  void cancel_reads() noexcept {
    descriptor::for_each([this](descriptor& target) noexcept {
      if (target.watched_by.load(std::memory_order_relaxed) != &group_) return;
      if (operation* waiting = target.side(direction::read).claim_any(target.generation()))
        interrupt(*waiting, -ECANCELED, &owner_);
    });
  }

 private:
  static constexpr int most_events = 1024;
  static constexpr std::uint64_t wake_tag = 1;
  static constexpr std::uint64_t stop_tag = 2;
  static int attempt(operation& op, worker_counters& counters) noexcept {
    const int fd = op.target.fd();
    // Receives and sends say for themselves that they must not block.
    if (op.kind != operation_kind::receive && op.kind != operation_kind::send &&
        !op.target.nonblocking.load(std::memory_order_relaxed)) {
      if (const int answer = Kernel::set_nonblocking(fd, true); answer < 0) return answer;
      op.target.nonblocking.store(true, std::memory_order_relaxed);
    }
    (op.side() == direction::read ? counters.syscalls_read : counters.syscalls_write).add();
    switch (op.kind) {
      case operation_kind::accept:
        return Kernel::accept(fd);
      case operation_kind::receive:
        return Kernel::receive(fd, op.buffer, op.bytes);
      case operation_kind::send:
        return Kernel::send(fd, op.buffer, op.bytes);
      case operation_kind::read:
        return Kernel::read(fd, op.buffer, op.bytes);
      case operation_kind::write:
        return Kernel::write(fd, op.buffer, op.bytes);
      case operation_kind::connect:
        break;
    }
    if (op.outcome == -EINPROGRESS) return Kernel::connect_outcome(fd);
    op.outcome = Kernel::connect(fd, op.address, op.address_bytes);
    return op.outcome == -EINPROGRESS ? -EAGAIN : op.outcome;
  }

  /// Registers the descriptor unless it is. 0 or a negated error number.
  static int watch(group& shared, descriptor& target, worker_counters& counters) noexcept {
    if (target.watched_by.load(std::memory_order_relaxed) == &shared) return 0;
    counters.syscalls_control.add();
    const int answer = Kernel::epoll_add(shared.epoll_.get(), target.fd(),
                                         EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                         file_reference(target, target.generation()).tag());
    if (answer < 0 && answer != -EEXIST) return answer;
    target.watched_by.store(&shared, std::memory_order_relaxed);
    return 0;
  }

  /// Waits until a try may succeed; then the direction is held. Otherwise the negated error number.
  static int wait(worker& self, operation& op, descriptor_side& side, bool& held,
                  deadline& limit) noexcept {
    // The worker notices a stop on its own thread, so not between this look and the publication.
    if (self.stopping() && op.side() == direction::read) {
      self.yield();  // who tries for ever must not keep the worker
      return -ECANCELED;
    }
    const std::uint64_t at_ns = limit.at_ns();
    if (at_ns == 0) return -ETIMEDOUT;

    op.interrupted = 0;
    op.expired = expire;
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

  void complete(file_reference file, direction which) noexcept {
    operation* waiting = file.target().side(which).became_ready(file.generation());
    if (waiting == nullptr) return;
    owner_.counters().completions.add();
    disarm(*waiting, &owner_);
    owner_.make_ready(*waiting->waiting);
  }

  /// The fiber holds the direction again and returns `answer`.
  static int end(operation& op, descriptor_side& side, int answer) noexcept {
    const bool short_read = op.side() == direction::read && op.kind != operation_kind::accept &&
                            answer > 0 && static_cast<std::size_t>(answer) < op.bytes;
    // After a short read nothing is left and an event will tell of more, unless the peer has hung
    // up: then the end of the stream follows without one.
    const bool event_follows = op.target.watched_by.load(std::memory_order_relaxed) != nullptr &&
                               !op.target.hung_up.load(std::memory_order_acquire);
    const bool ready =
        answer != -ETIMEDOUT && answer != -ECANCELED && !(short_read && event_follows);
    if (side.end(ready)) op.target.release();
    return answer;
  }

  static void expire(timer& expired) noexcept {
    auto& op = static_cast<operation&>(expired);
    // Out of the wheel already; whoever claims the operation now must not look for it there.
    if (op.target.side(op.side()).claim(op, op.generation)) {
      op.interrupted = -ETIMEDOUT;
      wake(*op.waiting);
    }
  }

  static void disarm(operation& op, worker* canceller) noexcept {
    if (op.timer_home == nullptr) return;
    op.timer_home->disarm(op, canceller);
    op.timer_home = nullptr;
  }

  /// Ends the wait of an operation that the caller has claimed.
  static void interrupt(operation& op, int why, worker* canceller) noexcept {
    disarm(op, canceller);
    op.interrupted = why;
    wake(*op.waiting);
  }

  group& group_;
  worker& owner_;
  const int harvest_;
  bool alarmed_ = false;
};

using epoll_poller = basic_epoll<linux_kernel>;

}  // namespace heddle
