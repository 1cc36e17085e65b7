#pragma once

#include <chrono>
#include <cstddef>

#include <boost/asio/post.hpp>
#include <boost/fiber/algo/algorithm.hpp>
#include <boost/fiber/context.hpp>
#include <boost/fiber/scheduler.hpp>

#include "common/asio_types.hpp"

namespace peers {

/// Runs a thread's fibers in turn, and the handlers of its io_context whenever no fiber is ready.
class fiber_scheduler : public boost::fibers::algo::algorithm {
 public:
  /// `io` must outlive the thread and never run out of work.
  explicit fiber_scheduler(asio::io_context& io) : io_(io) {}

  void awakened(boost::fibers::context* fiber) noexcept override { fiber->ready_link(ready_); }

  boost::fibers::context* pick_next() noexcept override {
    if (ready_.empty()) return nullptr;
    boost::fibers::context* const next = &ready_.front();
    ready_.pop_front();
    return next;
  }

  bool has_ready_fibers() const noexcept override { return !ready_.empty(); }

  /// Waits for a handler, then runs all that are ready before a fiber runs again.
  void suspend_until(const std::chrono::steady_clock::time_point& limit) noexcept override {
    const bool is_for_ever = limit == std::chrono::steady_clock::time_point::max();
    if ((is_for_ever ? io_.run_one() : io_.run_one_until(limit)) != 0) io_.poll();
  }

  void notify() noexcept override {
    asio::post(io_, [] {});
  }

 private:
  asio::io_context& io_;
  boost::fibers::scheduler::ready_queue_type ready_;
};

/// How an operation of Asio ended.
struct fiber_result {
  error_code error;
  std::size_t bytes = 0;
};

/// Starts an operation with a handler, and suspends the calling fiber until that is called, which
/// must be on the fiber's thread and not before `start` has returned.
template <class Start>
fiber_result wait_for(Start start) {
  fiber_result result;
  boost::fibers::context* const self = boost::fibers::context::active();
  start([&result, self](error_code error, std::size_t bytes = 0) {
    result = {error, bytes};
    boost::fibers::context::active()->schedule(self);
  });
  self->suspend();
  return result;
}

}  // namespace peers
