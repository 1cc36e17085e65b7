#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <heddle/base/kernel_handover.hpp>
#include <heddle/base/unique_fd.hpp>
#include <heddle/fibers/worker.hpp>
#include <heddle/pollers/kernel.hpp>
#include <heddle/pollers/operation.hpp>
#include <heddle/pollers/parked_set.hpp>
#include <heddle/pollers/readiness.hpp>
#include <heddle/schedulers/tuning.hpp>

namespace heddle {

/// Completions over one edge-triggered epoll a worker. A call is tried first; on EAGAIN its
/// descriptor is registered, once for its life, with the worker that runs its fiber then, and the
/// fiber waits for an event there. So a connection stays with one worker, and its memory with one
/// processor, unless its fiber is stolen. docs/decisions tells why not one epoll for all.
///
/// A worker that is kept by one fiber for long cannot harvest its events; the watch marks it as
/// stuck, and a worker that is idle harvests for it.
template <class Kernel>
class basic_epoll {
 public:
  static constexpr const char* name = "epoll";

  /// What all workers of a runtime share.
  class group {
   public:
    /// Errors: std::system_error when a descriptor cannot be had.
    group(unsigned workers, const tuning& /*tuning*/) {
      for (unsigned i = 0; i < workers; ++i) {
        auto made = std::make_unique<part>();
        made->epoll = unique_fd(checked(Kernel::epoll_create(), "epoll_create1"));
        made->wake = unique_fd(checked(Kernel::eventfd(), "eventfd"));
        // Edge-triggered and never read: each write is an event, which waits for the next wait.
        checked(Kernel::epoll_add(made->epoll.get(), made->wake.get(), EPOLLIN | EPOLLET, wake_tag),
                "epoll_ctl");
        parts_.push_back(std::move(made));
      }
    }

    /// Wakes one worker that sleeps. False if none does any more. Threads: any.
    bool wake_one() noexcept {
      const std::optional<unsigned> sleeper = parked_.take_one();
      if (!sleeper) return false;
      Kernel::eventfd_add(parts_[*sleeper]->wake.get());
      return true;
    }

    /// Ends the wait under way, or the next, of each worker. Threads: any.
    void wake_all() noexcept {
      for (const auto& one : parts_) Kernel::eventfd_add(one->wake.get());
    }

    void prepare_run() noexcept {}

    /// Busy worker `index` has not polled for long: whoever is idle should harvest for it.
    void mark_stuck(unsigned index) noexcept {
      parts_[index]->stuck.store(true, std::memory_order_relaxed);
      any_stuck_.store(true, std::memory_order_release);
    }

    /// Ends the operation that `closing` found on a direction. Threads: any.
    void cancel(file_reference, direction, const descriptor_side::closing& closing,
                worker* canceller) noexcept {
      if (closing.waiting != nullptr) interrupt(*closing.waiting, -ECANCELED, canceller);
      // One that is in its system call now ends by itself.
    }

   private:
    friend basic_epoll;

    struct part {
      unique_fd epoll;
      unique_fd wake;
      std::atomic<bool> stuck{false};  // relaxed: a hint; any_stuck_ hands it over
    };

    static int checked(int answer, const char* call) {
      if (answer < 0) throw std::system_error(-answer, std::system_category(), call);
      return answer;
    }

    /// No other group of the process ever has it.
    static std::uint64_t next_number() noexcept {
      static std::atomic<std::uint64_t> last{0};  // relaxed: only to differ
      return last.fetch_add(1, std::memory_order_relaxed) + 1;
    }

    const std::uint64_t number_ = next_number();
    std::vector<std::unique_ptr<part>> parts_;
    parked_set parked_;
    /// [stuck] release in mark_stuck -> acquire exchange in help_stuck.
    std::atomic<bool> any_stuck_{false};
  };

  basic_epoll(group& group, worker& owner, const tuning& tuning)
      : group_(group), owner_(owner), harvest_(static_cast<int>(tuning.harvest_events)) {}

  /// See worker::perform. Called in a fiber, which may go on under another worker after each wait:
  /// so nothing of this poller but the group is used.
  int perform(operation& op, deadline limit) noexcept {
    if (op.kind == operation_kind::receive && op.target.flow.has_unread())
      return read_unread(op, limit);
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
        if (answer != -EAGAIN) return end(op, answer);
        if (const int error = watch(shared, self, op.target)) return end(op, error);
      }
      const int interrupted = wait_until_ready(self, op, side, held, limit);
      if (interrupted != 0) return held ? end(op, interrupted) : interrupted;
    }
  }

  bool wants_poll() const noexcept { return false; }

  /// Before the owner announces that it sleeps: from here on a wake-up reaches it.
  void prepare_sleep() noexcept { group_.parked_.mark(owner_.index()); }

  /// The owner no longer sleeps. True if a wake-up was sent to it.
  bool end_sleep() noexcept { return !group_.parked_.unmark(owner_.index()); }

  /// Waits for events and makes ready whose operations they complete. Wake-ups are told by
  /// end_sleep. Threads: the owner's.
  void wait_for_events(std::uint64_t timeout_ns) noexcept { harvest(owner_.index(), timeout_ns); }

  /// Harvests for workers that are marked as stuck. Threads: the owner's.
  void help_stuck() noexcept {
    if (!group_.any_stuck_.load(std::memory_order_relaxed) ||
        !group_.any_stuck_.exchange(false, std::memory_order_acquire))
      return;
    for (unsigned i = 0; i < group_.parts_.size(); ++i)
      if (group_.parts_[i]->stuck.exchange(false, std::memory_order_relaxed)) harvest(i, 0);
  }

  /// Called on the owner's thread at its start and end.
  void enter_thread() noexcept {}
  void leave_thread() noexcept {}

  /// Ends, with ECANCELED, what waits for input or connections of this runtime. Threads: the
  /// owner's.
  void cancel_reads() noexcept {
    descriptor::for_each([this](descriptor& target) noexcept {
      if (target.watched_by.load(std::memory_order_relaxed) != group_.number_) return;
      if (operation* waiting = target.side(direction::read).claim_any(target.generation()))
        interrupt(*waiting, -ECANCELED, &owner_);
    });
  }

 private:
  static constexpr int most_events = 1024;
  static constexpr std::uint64_t wake_tag = 1;
  void harvest(unsigned whose, std::uint64_t timeout_ns) noexcept {
    owner_.counters().syscalls_wait.add();
    typename group::part& part = *group_.parts_[whose];
    std::array<epoll_event, most_events> events;
    const int count = Kernel::epoll_wait(part.epoll.get(), events.data(), harvest_, timeout_ns);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t tag = events[static_cast<std::size_t>(i)].data.u64;
      const std::uint32_t what = events[static_cast<std::size_t>(i)].events;
      if (tag == wake_tag) {
        // A helper must not swallow what was meant for the owner.
        if (whose != owner_.index()) Kernel::eventfd_add(part.wake.get());
        continue;
      }
      const file_reference file(tag);
      descriptor& target = file.target();
      got_from_kernel(&target);
      if (file.generation() != target.generation()) continue;  // a late event of an earlier file
      constexpr std::uint32_t ends = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
      if ((what & ends) != 0) target.hung_up.store(true, std::memory_order_release);
      if ((what & (EPOLLIN | ends)) != 0) complete(file, direction::read);
      if ((what & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) complete(file, direction::write);
    }
  }

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
  static int watch(group& shared, worker& self, descriptor& target) noexcept {
    if (target.watched_by.load(std::memory_order_relaxed) == shared.number_) return 0;
    self.counters().syscalls_control.add();
    given_to_kernel(&target);
    const int answer = Kernel::epoll_add(shared.parts_[self.index()]->epoll.get(), target.fd(),
                                         EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                         file_reference(target, target.generation()).tag());
    if (answer < 0 && answer != -EEXIST) return answer;
    target.watched_by.store(shared.number_, std::memory_order_relaxed);
    return 0;
  }

  void complete(file_reference file, direction which) noexcept {
    operation* waiting = file.target().side(which).became_ready(file.generation());
    if (waiting == nullptr) return;
    owner_.counters().completions.add();
    disarm(*waiting, &owner_);
    wake(*waiting->waiting);  // its file may be watched here and used by another runtime
  }

  /// The fiber holds the direction again and returns `answer`.
  static int end(operation& op, int answer) noexcept {
    // After a short read of a socket nothing is left and an event will tell of more, unless the
    // peer has hung up: then the end of the stream follows without one. A terminal has further
    // lines.
    const bool short_read = op.kind == operation_kind::receive && answer > 0 &&
                            static_cast<std::size_t>(answer) < op.bytes;
    const bool event_follows = op.target.watched_by.load(std::memory_order_relaxed) != 0 &&
                               !op.target.hung_up.load(std::memory_order_acquire);
    const bool ready =
        answer != -ETIMEDOUT && answer != -ECANCELED && !(short_read && event_follows);
    give_back(op, ready);
    return answer;
  }

  group& group_;
  worker& owner_;
  const int harvest_;
};

using epoll_poller = basic_epoll<linux_kernel>;

}  // namespace heddle
