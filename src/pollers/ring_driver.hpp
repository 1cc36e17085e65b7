#pragma once

#include <cstdint>
#include <thread>

#include <heddle/base/counters.hpp>
#include <heddle/pollers/ring.hpp>

namespace heddle {

/// Submits to one ring and harvests it, for `Completer`, whose complete(const io_uring_cqe&) takes
/// the completions. Threads: the ring's.
template <class RingKernel, class Completer>
class ring_driver {
 public:
  ring_driver(io_uring& ring, bool has_thread, worker_counters& counters, Completer& completer)
      : ring_(ring), has_thread_(has_thread), counters_(counters), completer_(completer) {}

  /// Entries that the kernel has not been shown.
  unsigned queued_entries() const noexcept {
    return has_thread_ ? ring_.sq.sqe_tail - ring_.sq.sqe_head : io_uring_sq_ready(&ring_);
  }

  /// A free submission entry. When the queue is full it is submitted first; the kernel refuses that
  /// only while its completion queue overflows, which reaping ends.
  io_uring_sqe& next_entry() noexcept {
    for (;;) {
      if (io_uring_sqe* entry = io_uring_get_sqe(&ring_)) return *entry;
      enter(0);
      reap();
      if (has_thread_) std::this_thread::yield();  // it may need this processor to make room
    }
  }

  /// The entry is complete. A kernel thread is told at once.
  void entry_is_queued() noexcept {
    if (has_thread_) enter(0);
  }

  /// One call of the kernel: submits, lets it post completions, and waits for one up to
  /// `timeout_ns`. With a kernel thread only a wait needs the call, as a rule.
  void enter(std::uint64_t timeout_ns) noexcept {
    counters_.ring_submissions.add(queued_entries());
    if (has_thread_ && timeout_ns == 0) {
      if (RingKernel::hand_over(&ring_)) counters_.syscalls_wait.add();
      return;
    }
    counters_.syscalls_wait.add();
    // Every refusal (EBUSY, EAGAIN, EINTR, ETIME) leaves entries queued for the next call.
    if (timeout_ns == 0) {
      RingKernel::submit_and_harvest(&ring_);
    } else {
      RingKernel::submit_and_wait(&ring_, timeout_ns);
    }
  }

  bool has_deferred_work() const noexcept {
    return (IO_URING_READ_ONCE(*ring_.sq.kflags) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) !=
           0;
  }

  /// Hands over what has completed; answers how many completions there were.
  unsigned reap() noexcept {
    unsigned count = 0;
    for (;;) {
      unsigned head;
      unsigned seen = 0;
      io_uring_cqe* completion;
      io_uring_for_each_cqe(&ring_, head, completion) {
        ++seen;
        completer_.complete(*completion);
      }
      io_uring_cq_advance(&ring_, seen);
      count += seen;
      if (!io_uring_cq_has_overflow(&ring_)) return count;
      enter(0);
    }
  }

 private:
  io_uring& ring_;
  const bool has_thread_;
  worker_counters& counters_;
  Completer& completer_;
};

}  // namespace heddle
