#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <heddle/fibers/worker.hpp>
#include <heddle/pollers/buffer_ring.hpp>
#include <heddle/pollers/readiness.hpp>
#include <heddle/pollers/ring_group.hpp>

namespace heddle {

/// The armed receives of one worker's ring, and how fibers read from those of any ring: see inflow.
///
/// Bytes that come go straight from the ring's buffer to the operation that waits in the word of
/// its direction; then the buffer is the kernel's again. `Driver`: a ring_driver. Threads: the
/// owner's.
template <class Driver>
class ring_flows {
 public:
  ring_flows(ring_part& part, worker& owner, Driver& driver)
      : part_(part), owner_(owner), driver_(driver) {}

  /// Marks the tags of flows in completions; no operation's address has this bit.
  static constexpr std::uint64_t mark = 4;
  static bool is_flow(std::uint64_t ring_tag) noexcept { return (ring_tag & 15) == mark; }

  /// Whether the ring can have any.
  bool available() const noexcept { return part_.buffers.has_value(); }

  /// Reads from the flow of a file, armed on any ring. As worker::perform.
  static int receive(operation& op, deadline limit) noexcept {
    descriptor_side& side = op.target.side(direction::read);
    const auto begun = side.begin(op.generation);
    if (begun == descriptor_side::begun::closed) return -EBADF;
    if (begun == descriptor_side::begun::busy) return -EBUSY;
    return wait(op, side, begun == descriptor_side::begun::tried, limit);
  }

  /// Arms the flow of a file that has none, and reads from it. The operation has begun.
  int start(operation& op, descriptor_side& side, bool poll_first, deadline limit) noexcept {
    inflow& flow = op.target.flow;
    io_uring_sqe& entry = driver_.next_entry();
    op.target.hold();
    flow.ring_tag = file_reference(op.target, op.generation).tag() | mark;
    flow.arm(owner_.index(), owner_.runtime());
    part_.flows.append(flow);
    prepare_armed_receive(entry, op.target.fd());
    if (poll_first) entry.ioprio |= IORING_RECVSEND_POLL_FIRST;
    io_uring_sqe_set_data64(&entry, flow.ring_tag);
    driver_.entry_is_queued();
    return wait(op, side, true, limit);
  }

  /// A completion whose tag is a flow's.
  void complete(const io_uring_cqe& completion) noexcept {
    const file_reference file = file_of(completion.user_data);
    descriptor& target = file.target();
    inflow& flow = target.flow;
    descriptor_side& side = target.side(direction::read);
    const bool ends = (completion.flags & IORING_CQE_F_MORE) == 0;
    operation* reader = side.claim_any(file.generation());
    if (reader != nullptr) reader->more_to_read = ends;

    if (completion.res > 0) {
      const auto id = static_cast<unsigned short>(completion.flags >> IORING_CQE_BUFFER_SHIFT);
      const bool few =
          hand_over(flow, reader, part_.buffers->at(id), static_cast<std::size_t>(completion.res));
      part_.buffers->give_back(id);
      if (!few && !ends) {
        flow.give_up();
        stop(flow);
      }
    } else if (completion.res == -ENOBUFS) {
      part_.buffers->give_more();
    } else if (completion.res != -ECANCELED) {
      if (reader != nullptr) {
        reader->outcome = completion.res;
        reader->answered = true;
      } else {
        flow.keep_end(completion.res);
      }
    }
    if (ends) {
      flow.unlink();
      flow.disarm();
    }
    if (reader == nullptr) reader = side.became_ready(file.generation());
    if (reader != nullptr) {
      disarm(*reader, &owner_);
      owner_.counters().completions.add();
      owner_.make_ready(*reader->waiting);
    }
    if (ends) target.release();
  }

  /// The flow of `file`, if it is armed here, is to be disarmed.
  void stop(file_reference file) noexcept {
    inflow& flow = file.target().flow;
    if (file.target().generation() != file.generation() || flow.home() != owner_.index() ||
        flow.user() != &owner_.runtime())
      return;
    stop(flow);
  }

  /// All are.
  void stop_all() noexcept {
    while (part_.flows.linked()) stop(static_cast<inflow&>(*part_.flows.next));
  }

  /// Ends, with ECANCELED, what waits for a flow of this runtime, on whatever ring: a fiber that
  /// the owner has just run may wait for any.
  void cancel_reads() noexcept {
    descriptor::for_each([this](descriptor& target) noexcept {
      if (!target.flow.is_armed() || target.flow.user() != &owner_.runtime()) return;
      if (operation* waiting = target.side(direction::read).claim_any(target.generation()))
        interrupt(*waiting, -ECANCELED, &owner_);
    });
  }

 private:
  static file_reference file_of(std::uint64_t ring_tag) noexcept {
    return file_reference(ring_tag & ~mark);
  }

  /// Not at once, as there may be no entry free.
  void stop(inflow& flow) noexcept {
    flow.unlink();
    part_.to_cancel.append(flow);
  }

  /// Gives bytes that came to the reader, if any, and keeps the rest. False when too many are kept.
  static bool hand_over(inflow& flow, operation* reader, const std::byte* data,
                        std::size_t bytes) noexcept {
    if (reader == nullptr) return flow.keep(data, bytes);
    const std::size_t taken = std::min(reader->bytes, bytes);
    std::memcpy(reader->buffer, data, taken);
    reader->outcome = static_cast<int>(taken);
    reader->answered = true;
    if (taken == bytes) return true;
    reader->more_to_read = true;
    return flow.keep(data + taken, bytes - taken);
  }

  /// Static, as the fiber goes on under any worker.
  static int wait(operation& op, descriptor_side& side, bool held, deadline limit) noexcept {
    inflow& flow = op.target.flow;
    for (;;) {
      if (held) {
        // In this order: what came before it was disarmed must not be missed.
        const bool armed = flow.is_armed();
        if (const auto taken = flow.take(op.buffer, op.bytes))
          return end(op, *taken, !armed || flow.has_unread());
        // It ended without an answer: the read begins once more.
        if (!armed) return give_back(op, true) ? current_worker()->perform(op, limit) : -ECANCELED;
      }
      op.answered = false;
      const int interrupted = wait_until_ready(*current_worker(), op, side, held, limit);
      if (interrupted != 0) return held ? end(op, interrupted, false) : interrupted;
      if (op.answered) return end(op, op.outcome, op.more_to_read);
    }
  }

  static int end(operation& op, int answer, bool still_ready) noexcept {
    give_back(op, still_ready);
    return answer;
  }

  ring_part& part_;
  worker& owner_;
  Driver& driver_;
};

}  // namespace heddle
