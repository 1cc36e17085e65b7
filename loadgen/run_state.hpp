#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <stdexcept>

#include <sys/eventfd.h>

#include "options.hpp"
#include <heddle/base/unique_fd.hpp>

namespace heddle::load {

enum class ending : int {
  none,
  planned,        ///< the time is over, or the requests are done
  signal,         ///< the user ended it
  not_connected,  ///< not every connection could be opened: nothing was measured
  server_gone,    ///< no connection is left and none can be opened
  no_response,    ///< requests time out and nothing else happens
  failed,         ///< the generator itself
};

/// What the threads of a run share.
class run_state {
 public:
  explicit run_state(const options& run)
      : requests_left_(static_cast<std::int64_t>(run.requests)),
        stop_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!stop_event_) throw std::runtime_error("eventfd: no descriptor left");
  }

  /// Ends the run before its time; the first reason stays. Any thread.
  void stop(ending reason) {
    ending none = ending::none;
    // [stop] release → [look] acquire: what the thread did before it stopped the run is seen.
    if (stopped_.compare_exchange_strong(none, reason, std::memory_order_release,
                                         std::memory_order_relaxed))
      ::eventfd_write(stop_event_.get(), 1);
  }

  /// [look] acquire ← [stop] release.
  ending stopped() const { return stopped_.load(std::memory_order_acquire); }

  /// Readable once the run is stopped.
  int stop_event() const { return stop_event_.get(); }

  /// Up to `most` of the requests that are left of the run; 0 when all are taken. Any thread.
  std::uint64_t take_requests(std::uint64_t most) {
    const auto wanted = static_cast<std::int64_t>(most);
    // relaxed: only the number itself is shared.
    const std::int64_t left = requests_left_.fetch_sub(wanted, std::memory_order_relaxed);
    return static_cast<std::uint64_t>(std::clamp<std::int64_t>(left, 0, wanted));
  }

  std::atomic<std::uint64_t> connected{0};  ///< before the start, of all threads
  std::uint64_t start_ns = 0;               ///< 0: the run does not take place; set at the barrier

 private:
  std::atomic<std::int64_t> requests_left_;
  std::atomic<ending> stopped_{ending::none};
  unique_fd stop_event_;
};

}  // namespace heddle::load
