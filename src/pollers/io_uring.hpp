#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <poll.h>

#include <heddle/fibers/worker.hpp>
#include <heddle/pollers/kernel.hpp>
#include <heddle/pollers/operation.hpp>
#include <heddle/pollers/readiness.hpp>
#include <heddle/pollers/ring_driver.hpp>
#include <heddle/pollers/ring_flows.hpp>
#include <heddle/pollers/ring_group.hpp>
#include <heddle/schedulers/tuning.hpp>

namespace heddle {

/// Completions over one io_uring a worker. An operation is queued on the ring of the worker that
/// runs its fiber, and submitted with the others of the batch; the fiber goes on wherever it is
/// then run, and its next operation goes to the ring of the worker there. Only a ring's own worker
/// submits to it and harvests it; other threads reach it through an inbox. Reads of a socket whose
/// fiber waits for each of them have a receive that stays armed on one ring: see inflow.
template <class Kernel, class RingKernel>
class basic_io_uring {
 public:
  static constexpr const char* name = "io_uring";

  using group = ring_group<Kernel, RingKernel>;

  basic_io_uring(group& group, worker& owner, const tuning& tuning)
      : group_(group),
        owner_(owner),
        part_(group.part(owner.index())),
        poll_first_(group.abilities().poll_first),
        submit_batch_(tuning.submit_batch),
        driver_(part_.ring, group.abilities().has_thread(), owner.counters(), *this),
        flows_(part_, owner, driver_) {}

  /// See worker::perform. Called in a fiber, which goes on under any worker after the wait.
  int perform(operation& op, deadline limit) noexcept {
    descriptor_side& side = op.target.side(op.side());
    inflow& flow = op.target.flow;
    const bool receives = op.kind == operation_kind::receive;
    if (receives) {
      if (flow.is_armed()) return flows::receive(op, limit);
      if (flow.has_unread()) return read_unread(op, limit);
    }
    const auto begun = side.begin_at(owner_.index(), op.generation);
    if (begun == descriptor_side::begun::closed) return -EBADF;
    if (begun == descriptor_side::begun::busy) return -EBUSY;

    // The worker notices a stop on its own thread, so not between this look and the submission.
    if (owner_.stopping() && op.side() == direction::read) return end(op, without_waiting(op));

    const bool must_wait = begun == descriptor_side::begun::must_wait;
    if (receives) {
      flow.count_read(must_wait);
      if (must_wait && flow.is_calm() && flows_.available())
        return flows_.start(op, side, poll_first_, limit);
    }
    const std::uint64_t at_ns = limit.at_ns();
    if (op.side() == direction::read) owner_.counters().suspended_reads.add();
    queue(op, must_wait);
    worker& self = owner_;
    self.suspend([&](fiber& waiting) noexcept {
      // Completions are harvested by this thread between fibers: it cannot have come yet.
      op.waiting = &waiting;
      if (at_ns != never_ns) {
        op.expired = expire;
        op.timer_home = &self;
        self.arm(op, at_ns);
      }
      return true;
    });
    const bool gave_up = op.interrupted != 0 && (op.outcome == -ECANCELED || op.outcome == -EINTR);
    return end(op, gave_up ? op.interrupted : op.outcome);
  }

  /// What a read can have while the runtime stops.
  int without_waiting(operation& op) noexcept {
    if (op.kind == operation_kind::receive) {
      owner_.counters().syscalls_read.add();
      const int answer = Kernel::receive(op.target.fd(), op.buffer, op.bytes);
      if (answer != -EAGAIN) return answer;
    }
    owner_.yield();  // who tries for ever must not keep the worker
    return -ECANCELED;
  }

  /// Enough waits for submission that a busy worker should enter the ring.
  bool wants_poll() const noexcept { return driver_.queued_entries() >= submit_batch_; }

  /// Before the owner announces that it sleeps: from here on a wake-up reaches it.
  void prepare_sleep() noexcept { group_.parked.mark(owner_.index()); }

  /// The owner no longer sleeps. True if a wake-up was sent to it.
  bool end_sleep() noexcept { return !group_.parked.unmark(owner_.index()); }

  /// Submits what is queued and makes ready whose operations are complete, waiting at most
  /// `timeout_ns` for the first. Wake-ups are told by end_sleep. Threads:
  /// the owner's.
  void wait_for_events(std::uint64_t timeout_ns) noexcept {
    cancel_wanted();
    // What was queued may complete at once, as sends do: that is worth a look before sleeping.
    const bool look_first = timeout_ns == 0 || std::exchange(part_.sends_queued, 0u) > 0;
    if (look_first && (driver_.queued_entries() > 0 || driver_.has_deferred_work()))
      driver_.enter(0);
    if (driver_.reap() > 0 || timeout_ns == 0) return;
    driver_.enter(timeout_ns);
    driver_.reap();
  }

  /// Nobody else can harvest a ring: see ring_group::mark_stuck.
  void help_stuck() noexcept {}

  /// Ends, with ECANCELED, what waits for input or connections. Threads: the owner's.
  void cancel_reads() noexcept {
    for (list_links* at = part_.in_flight.next; at != &part_.in_flight;) {
      operation& op = static_cast<operation&>(*std::exchange(at, at->next));
      if (op.side() == direction::read) want_cancel(op, -ECANCELED);
    }
    flows_.cancel_reads();
  }

  /// Called on the owner's thread at its start and end.
  void enter_thread() noexcept {
    if (const int error = enable_ring(part_.ring); error < 0) {
      std::fprintf(stderr, "heddle: an io_uring that was set up cannot be enabled: %s\n",
                   std::strerror(-error));
      std::abort();
    }
    part_.used = true;
    watch_wake_up();
  }
  void leave_thread() noexcept {
    // The ring goes, or is made anew, while files stay open.
    while (part_.to_cancel.linked() || part_.flows.linked()) {
      flows_.stop_all();
      cancel_wanted();
      driver_.enter(cancel_wait_ns);
      driver_.reap();
    }
  }

  /// For the driver.
  void complete(const io_uring_cqe& completion) noexcept {
    if (completion.user_data == cancel_tag) return;
    if (completion.user_data == wake_tag) {
      if ((completion.flags & IORING_CQE_F_MORE) == 0) rewatch_ = true;
      return;
    }
    if (flows::is_flow(completion.user_data)) return flows_.complete(completion);
    operation& op = *reinterpret_cast<operation*>(completion.user_data);
    op.unlink();
    op.outcome = completion.res;
    op.more_to_read = (completion.flags & IORING_CQE_F_SOCK_NONEMPTY) != 0;
    disarm(op, &owner_);
    owner_.counters().completions.add();
    owner_.make_ready(*op.waiting);
  }

 private:
  using driver = ring_driver<RingKernel, basic_io_uring>;
  using flows = ring_flows<driver>;

  static constexpr std::uint64_t wake_tag = 1;
  static constexpr std::uint64_t cancel_tag = 2;
  static constexpr std::uint64_t cancel_wait_ns = 1'000'000;
  static constexpr std::size_t most_bytes = std::size_t{1} << 30;

  /// Hands the operation to the owner's ring, for the next submission.
  void queue(operation& op, bool known_empty) noexcept {
    op.interrupted = 0;
    op.ring_owner = this;
    io_uring_sqe& entry = driver_.next_entry();
    part_.in_flight.append(op);
    const int fd = op.target.fd();
    const unsigned bytes = static_cast<unsigned>(std::min(op.bytes, most_bytes));
    switch (op.kind) {
      case operation_kind::accept:
        io_uring_prep_accept(&entry, fd, nullptr, nullptr, SOCK_CLOEXEC);
        break;
      case operation_kind::receive:
        io_uring_prep_recv(&entry, fd, op.buffer, bytes, 0);
        if (known_empty && poll_first_) entry.ioprio |= IORING_RECVSEND_POLL_FIRST;
        break;
      case operation_kind::send:
        io_uring_prep_send(&entry, fd, op.buffer, bytes, MSG_NOSIGNAL);
        ++part_.sends_queued;
        break;
      case operation_kind::read:
        io_uring_prep_read(&entry, fd, op.buffer, bytes, static_cast<std::uint64_t>(-1));
        break;
      case operation_kind::write:
        io_uring_prep_write(&entry, fd, op.buffer, bytes, static_cast<std::uint64_t>(-1));
        break;
      case operation_kind::connect:
        io_uring_prep_connect(&entry, fd, op.address, op.address_bytes);
        break;
    }
    op.ring_tag = reinterpret_cast<std::uint64_t>(&op);
    io_uring_sqe_set_data64(&entry, op.ring_tag);
    driver_.entry_is_queued();
  }

  /// The fiber holds the direction again and returns `answer`.
  static int end(operation& op, int answer) noexcept {
    const bool short_read = op.kind == operation_kind::receive && answer > 0 && !op.more_to_read &&
                            static_cast<std::size_t>(answer) < op.bytes;
    give_back(op, !short_read);
    return answer;
  }

  /// Runs on the worker that armed the timer, whose ring holds the operation.
  static void expire(timer& expired) noexcept {
    auto& op = static_cast<operation&>(expired);
    op.timer_home = nullptr;
    static_cast<basic_io_uring*>(op.ring_owner)->want_cancel(op, -ETIMEDOUT);
  }

  /// The kernel owns the buffer until the operation's own completion: it is asked to end it, and
  /// the fiber goes on when it has. Not at once, as there may be no entry free and timers are
  /// locked.
  void want_cancel(operation& op, int why) noexcept {
    if (op.interrupted != 0) return;
    op.interrupted = why;
    op.unlink();
    part_.to_cancel.append(op);
  }

  /// Queues the cancellations that timers, closers, the stop and piled-up bytes have asked for.
  void cancel_wanted() noexcept {
    if (part_.has_requests.load(std::memory_order_relaxed)) take_requests();
    if (rewatch_) watch_wake_up();
    while (part_.to_cancel.linked()) {
      // An entry first: getting one may complete the operation.
      io_uring_sqe& entry = driver_.next_entry();
      if (!part_.to_cancel.linked()) {
        io_uring_prep_nop(&entry);
        io_uring_sqe_set_data64(&entry, cancel_tag);
        break;
      }
      ring_entry& cancelled = static_cast<ring_entry&>(*part_.to_cancel.next);
      cancelled.unlink();
      (flows::is_flow(cancelled.ring_tag) ? part_.flows : part_.in_flight).append(cancelled);
      io_uring_prep_cancel64(&entry, cancelled.ring_tag, 0);
      io_uring_sqe_set_data64(&entry, cancel_tag);
    }
  }

  /// Closers name a file and a direction, not an operation, which may have ended meanwhile.
  void take_requests() noexcept {
    std::vector<std::pair<file_reference, direction>> taken;
    {
      std::lock_guard guard(part_.lock);
      taken.swap(part_.requests);
      part_.has_requests.store(false, std::memory_order_relaxed);
    }
    for (const auto& [file, which] : taken) {
      if (which == direction::read) flows_.stop(file);
      for (list_links* at = part_.in_flight.next; at != &part_.in_flight; at = at->next) {
        operation& op = static_cast<operation&>(*at);
        if (&op.target != &file.target() || op.generation != file.generation() ||
            op.side() != which)
          continue;
        want_cancel(op, -ECANCELED);
        break;
      }
    }
  }

  /// Makes every write to the owner's eventfd a completion.
  void watch_wake_up() noexcept {
    rewatch_ = false;
    io_uring_sqe& entry = driver_.next_entry();
    io_uring_prep_poll_multishot(&entry, part_.wake.get(), POLLIN);
    io_uring_sqe_set_data64(&entry, wake_tag);
  }

  group& group_;
  worker& owner_;
  ring_part& part_;
  const bool poll_first_;
  const unsigned submit_batch_;
  bool rewatch_ = false;
  driver driver_;
  flows flows_;
};

using io_uring_poller = basic_io_uring<linux_kernel, linux_ring_kernel>;

}  // namespace heddle
