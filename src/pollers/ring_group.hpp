#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <heddle/base/intrusive_list.hpp>
#include <heddle/base/unique_fd.hpp>
#include <heddle/fibers/worker.hpp>
#include <heddle/pollers/buffer_ring.hpp>
#include <heddle/pollers/descriptor.hpp>
#include <heddle/pollers/parked_set.hpp>
#include <heddle/pollers/readiness.hpp>
#include <heddle/pollers/ring.hpp>
#include <heddle/schedulers/tuning.hpp>

namespace heddle {

/// One worker's ring and what belongs to it. But for `wake` and `requests`, only that worker's
/// thread touches it.
struct ring_part {
  explicit ring_part(int wake_fd) : wake(wake_fd) {}
  ~ring_part() {
    if (made) io_uring_queue_exit(&ring);
  }
  ring_part(const ring_part&) = delete;
  ring_part& operator=(const ring_part&) = delete;

  io_uring ring{};
  bool made = false;
  bool used = false;  // by a thread, which then is the only one that can use it
  unsigned sends_queued = 0;
  std::optional<buffer_ring> buffers;  // without them no receive can stay armed
  list_links in_flight;                // operations that the ring holds
  list_links flows;                    // receives that stay armed
  list_links to_cancel;  // such and such that must be cancelled, when there is room to say so

  unique_fd wake;
  std::mutex lock;
  std::vector<std::pair<file_reference, direction>> requests;  // to cancel; guarded by lock
  /// Relaxed: a hint; whoever sets it also wakes the worker, which looks again after that.
  std::atomic<bool> has_requests{false};
};

/// The rings of all workers, and how to reach their workers.
template <class Kernel, class RingKernel>
class ring_group {
 public:
  /// Errors: std::system_error that says which limit or ability is missing.
  ring_group(unsigned workers, const tuning& tuning)
      : maker_(tuning.ring_entries, tuning.sqpoll_idle_ms),
        workers_(workers),
        receive_buffers_(maker_.abilities().armed_receive ? tuning.receive_buffers : 0) {
    for (unsigned i = 0; i < workers; ++i) {
      const int wake = Kernel::eventfd();
      if (wake < 0) throw std::system_error(-wake, std::system_category(), "eventfd");
      parts_.push_back(std::make_unique<ring_part>(wake));
      make(i);
    }
  }

  /// Wakes one worker that sleeps. False if none does any more. Threads: any.
  bool wake_one() noexcept {
    const std::optional<unsigned> sleeper = parked.take_one();
    if (!sleeper) return false;
    Kernel::eventfd_add(parts_[*sleeper]->wake.get());
    return true;
  }

  /// Ends every wait under way; each worker gets one completion. Threads: any.
  void wake_all() noexcept {
    for (const auto& one : parts_) Kernel::eventfd_add(one->wake.get());
  }
  /// A busy worker has not polled for long. Nobody else can harvest its ring.
  void mark_stuck(unsigned) noexcept {}

  /// Makes anew the rings that threads of an earlier run have used: a ring knows its thread.
  /// Errors: std::system_error.
  void prepare_run() {
    for (unsigned i = 0; i < parts_.size(); ++i) {
      ring_part& old = *parts_[i];
      if (!old.used) continue;
      if (std::exchange(old.made, false)) io_uring_queue_exit(&old.ring);
      make(i);
      Kernel::eventfd_take(old.wake.get());
    }
  }

  /// Ends the operation that `closing` found: itself if it waits for a flow, else the worker whose
  /// ring holds it, or the flow, is asked to cancel that. Threads: any.
  void cancel(file_reference file, direction which, const descriptor_side::closing& closing,
              worker* canceller) noexcept {
    if (closing.waiting != nullptr) return interrupt(*closing.waiting, -ECANCELED, canceller);
    ring_part& home = *parts_[closing.home];
    {
      std::lock_guard guard(home.lock);
      home.requests.emplace_back(file, which);
      home.has_requests.store(true, std::memory_order_relaxed);
    }
    if (canceller == nullptr || canceller->index() != closing.home)
      Kernel::eventfd_add(home.wake.get());
  }

  ring_part& part(unsigned index) noexcept { return *parts_[index]; }
  const ring_abilities& abilities() const noexcept { return maker_.abilities(); }

  parked_set parked;

 private:
  void make(unsigned index) {
    ring_part& made = *parts_[index];
    const auto other =
        std::ranges::find_if(parts_, [](const auto& one) noexcept { return one->made; });
    maker_.make(made.ring, other == parts_.end() ? nullptr : &(*other)->ring, index + 1, workers_);
    made.made = true;
    made.used = false;
    made.buffers.reset();
    if (receive_buffers_ == 0) return;
    made.buffers.emplace(receive_buffers_);
    if (!made.buffers->register_with(made.ring)) made.buffers.reset();
  }

  ring_maker<RingKernel> maker_;
  const unsigned workers_;
  const unsigned receive_buffers_;
  std::vector<std::unique_ptr<ring_part>> parts_;
};

}  // namespace heddle
