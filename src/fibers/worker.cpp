#include <stdexcept>
#include <string>
#include <utility>

#include <heddle/fibers/spawn.hpp>
#include <heddle/fibers/worker.hpp>
#include <heddle/runtime_base.hpp>
#include <heddle/time/sleep.hpp>

#if defined(HEDDLE_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace heddle {
namespace {

/// Free fibers a worker keeps before it gives half back, and how many it takes at once.
constexpr std::size_t most_free_fibers = 512;
constexpr std::size_t taken_fibers = 64;

}  // namespace

// Used: link-time optimisation sees no reader but the assembly, which it does not look into.
[[gnu::used]] thread_local constinit worker* detail::worker_of_thread = nullptr;

HEDDLE_OPAQUE worker* detail::read_worker_of_thread() noexcept {
  HEDDLE_OPAQUE_BODY;
  return worker_of_thread;
}

void detail::throw_no_fiber(const char* operation) {
  throw std::logic_error(std::string(operation) + " must be called in a fiber");
}

void wake(fiber& fiber) noexcept {
  worker* current = current_worker();
  if (current != nullptr && &current->runtime() == fiber.runtime) {
    current->make_ready(fiber);
  } else {
    fiber.runtime->make_ready_from_outside(fiber);
  }
}

void worker::enter_thread() noexcept {
  HEDDLE_ASSERT(detail::worker_of_thread == nullptr);
  detail::worker_of_thread = this;
  exceptions_of_thread_ = &current_exception_state();
  // run() may be called while its caller handles an exception.
  exceptions_of_caller_ = std::exchange(*exceptions_of_thread_, {});
}

void worker::leave_thread() noexcept {
  *exceptions_of_thread_ = exceptions_of_caller_;
  detail::worker_of_thread = nullptr;
}

fiber& worker::allocate_fiber() {
  fiber* item = free_fibers_.pop();
  if (item == nullptr) {
    runtime_.fibers().take(free_fibers_, taken_fibers);
    item = free_fibers_.pop();
  }
  item->runtime = &runtime_;
  // Numbers of different workers never meet, nor those of fibers that come from outside.
  item->id = ++next_fiber_number_ * (runtime_.workers() + 1) + index_ + 1;
  return *item;
}

void worker::recycle_fiber(fiber& fiber) noexcept {
  free_fibers_.push(fiber);
  if (free_fibers_.size() > most_free_fibers)
    runtime_.fibers().give(free_fibers_, most_free_fibers / 2);
}

void worker::end_fiber(fiber& finished) noexcept {
  worker& self = *current_worker();
  self.after_switch_ = worker::retire;
  context::finish(finished.flow, self.loop_);
}

void worker::retire(worker& self, fiber& finished, void*) noexcept {
  finished.flow.destroy();
  finished.live.store(false, std::memory_order_relaxed);
#if defined(HEDDLE_ASAN)
  // The frames that end_fiber left behind were never unwound.
  __asan_unpoison_memory_region(
      finished.stack_bottom,
      static_cast<char*>(finished.task) - static_cast<char*>(finished.stack_bottom));
#endif
  self.counters_.fibers_finished.add();
  // [completion] acq_rel exchange → acquire in join: the result is written before `done` is seen;
  // the joiner's waiter is complete before it is woken.
  const std::uintptr_t before =
      finished.completion.exchange(fiber::done, std::memory_order_acq_rel);
  if (before == fiber::detached) {
    finished.discard(finished);
    self.recycle_fiber(finished);
  } else if (before != fiber::running) {
    reinterpret_cast<waiter*>(before)->wake();
  }
}

void worker::fire_timers() noexcept {
  if (armed_.load(std::memory_order_relaxed) == 0) return;
  std::lock_guard guard(timers_lock_);
  const std::size_t fired =
      timers_.advance(now_ns(), [](timer& expired) noexcept { expired.expired(expired); });
  armed_.store(timers_.size(), std::memory_order_relaxed);
  counters_.timer_fires.add(fired);
}

void worker::begin_stop() noexcept {
  stopping_ = true;
  std::lock_guard guard(timers_lock_);
  timers_.remove_if(is_sleep, cancel_sleep);
  armed_.store(timers_.size(), std::memory_order_relaxed);
}

}  // namespace heddle
