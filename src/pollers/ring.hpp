#pragma once

#include <cstdint>

#include <liburing.h>
// linux/fs.h, which liburing.h includes, has a macro of this name, and moodycamel a constant.
#undef BLOCK_SIZE

namespace heddle {

/// The calls that make and drive a ring, as static functions that answer a negated error number.
/// Tests put other kernels in its place, to inject faults that seccomp and strace cannot.
struct linux_ring_kernel {
  static int queue_init(unsigned entries, io_uring* ring, io_uring_params* parameters) noexcept {
    return ::io_uring_queue_init_params(entries, ring, parameters);
  }
  static int submit(io_uring* ring) noexcept { return ::io_uring_submit(ring); }
  /// Submits, runs deferred work and posts completions, without waiting.
  static int submit_and_harvest(io_uring* ring) noexcept {
    return ::io_uring_submit_and_get_events(ring);
  }
  /// The same for a ring with a kernel thread, which sees at once what is queued. It is called only
  /// to be woken, or for completions that found no room; true if it was.
  static bool hand_over(io_uring* ring) noexcept;
  /// Submits and waits for a completion, at most `timeout_ns`; never_ns without end.
  static int submit_and_wait(io_uring* ring, std::uint64_t timeout_ns) noexcept;
};

/// What kernel and machine allow of io_uring.
struct ring_abilities {
  unsigned setup_flags = 0;    ///< those of the wanted that the kernel knows
  bool poll_first = false;     ///< IORING_RECVSEND_POLL_FIRST
  bool armed_receive = false;  ///< IORING_RECV_MULTISHOT, into a ring of buffers

  /// A thread of the kernel takes submissions, for all rings of a maker.
  bool has_thread() const noexcept { return (setup_flags & IORING_SETUP_SQPOLL) != 0; }
};

/// Makes rings of one kind, after finding out once what can be had.
template <class Kernel>
class ring_maker {
 public:
  /// `sqpoll_idle_ms`: see tuning.
  /// Errors: std::system_error that says which limit or which missing ability refused.
  ring_maker(unsigned entries, unsigned sqpoll_idle_ms);

  /// A ring that is still disabled: the thread that will use it must call enable_ring. `other`: one
  /// whose kernel thread it shares, if it has one; nullptr: it starts one.
  /// Errors: as the constructor; `number` of `count` is named in the message.
  void make(io_uring& ring, const io_uring* other, unsigned number, unsigned count) const;

  const ring_abilities& abilities() const noexcept { return abilities_; }

 private:
  /// The parameters of a ring with so many completion entries.
  io_uring_params parameters(unsigned completion_entries) const noexcept;

  unsigned entries_;
  unsigned sqpoll_idle_ms_;
  ring_abilities abilities_;
};

/// Lets the calling thread, and only it, use a disabled ring. Answers a negated error number.
int enable_ring(io_uring& ring) noexcept;

extern template class ring_maker<linux_ring_kernel>;

}  // namespace heddle
