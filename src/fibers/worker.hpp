#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <type_traits>

#include <heddle/base/assert.hpp>
#include <heddle/base/clock.hpp>
#include <heddle/base/counters.hpp>
#include <heddle/base/opaque.hpp>
#include <heddle/base/spin_lock.hpp>
#include <heddle/fibers/fiber.hpp>
#include <heddle/fibers/fiber_pool.hpp>
#include <heddle/time/timer_wheel.hpp>

namespace heddle {

class runtime_base;
struct operation;

/// What a thread that runs fibers shows to the blocking API. The template that knows the queue, the
/// scheduler and the poller derives from it; sockets, timers and locks reach all three through
/// these few calls, so that they are ordinary compiled code.
class worker {
 public:
  worker(runtime_base& runtime, unsigned index) : runtime_(runtime), index_(index) {}
  virtual ~worker() = default;
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  runtime_base& runtime() noexcept { return runtime_; }
  unsigned index() const noexcept { return index_; }
  const worker_counters& counters() const noexcept { return counters_; }
  worker_counters& counters() noexcept { return counters_; }

  /// The fiber that runs on this worker now; nullptr in the worker loop.
  fiber* running() const noexcept { return running_; }

  /// This worker has noticed that a stop was requested: nothing that would wait for input may
  /// suspend any more. It notices between fibers, so the answer holds until the caller suspends.
  bool stopping() const noexcept { return stopping_; }

  /// Counts a call that may not have to wait. True: the running fiber has made so many in a row
  /// that it should yield, or a peer that always has data would keep this worker for itself.
  bool turn_is_over() noexcept { return ++calls_in_turn_ > most_calls_in_turn; }

  /// Queues a fiber that may run. Threads: this worker's.
  virtual void make_ready(fiber& fiber) noexcept = 0;

  /// Does `operation`, suspending the calling fiber as long as it takes. Returns the call's result,
  /// or the negated error number: -ETIMEDOUT at the deadline, -ECANCELED when the descriptor is
  /// closed meanwhile or the runtime stops. Threads: this worker's, in a fiber; may return on
  /// another.
  virtual int perform(operation& operation, deadline deadline) noexcept = 0;

  /// Puts the running fiber behind all that may run. Threads: this worker's, in a fiber.
  void yield() noexcept {
    after_switch_ = [](worker& self, fiber& yielded, void*) noexcept {
      self.requeue_yielded(yielded);
    };
    leave_fiber();
  }

  /// Suspends the running fiber. On the worker's own stack, when the fiber can be resumed by
  /// another thread, calls `publish(fiber&) -> bool`: it makes the fiber known to whoever will wake
  /// it and answers true, or answers false to let the fiber go on at once. After it has made the
  /// fiber known it must not touch its own captures: the fiber may already be running.
  template <class Publish>
  void suspend(Publish publish) noexcept {
    static_assert(std::is_same_v<std::invoke_result_t<Publish, fiber&>, bool>);
    after_switch_ = [](worker& self, fiber& suspended, void* argument) noexcept {
      if (!(*static_cast<Publish*>(argument))(suspended)) self.resume_next_ = &suspended;
    };
    after_switch_argument_ = &publish;
    leave_fiber();
  }

  /// Arms `timer` on this worker. Threads: this worker's, on its own stack (in a publish), so that
  /// it cannot fire before the fiber is published.
  void arm(timer& timer, std::uint64_t at_ns) noexcept {
    counters_.timers_armed.add();
    std::lock_guard guard(timers_lock_);
    timers_.insert(timer, at_ns);
    armed_.store(timers_.size(), std::memory_order_relaxed);
  }

  /// Removes `timer` of this worker. After the call its callback neither runs nor will run.
  /// Threads: any; `canceller` is the current worker, for its counter, or nullptr.
  void disarm(timer& timer, worker* canceller) noexcept {
    bool removed;
    {
      std::lock_guard guard(timers_lock_);
      removed = timers_.remove(timer);
      armed_.store(timers_.size(), std::memory_order_relaxed);
    }
    if (removed && canceller != nullptr) canceller->counters_.timers_cancelled.add();
  }

  /// Last step of a fiber, on its own stack: leaves it for good.
  [[noreturn]] static void end_fiber(fiber& finished) noexcept;

  std::size_t armed_timers() const noexcept { return armed_.load(std::memory_order_relaxed); }

  /// A free fiber of the runtime. Errors: std::system_error as fiber_pool::take.
  fiber& allocate_fiber();
  void recycle_fiber(fiber& fiber) noexcept;

 protected:
  virtual void requeue_yielded(fiber& fiber) noexcept = 0;

  /// Runs `next` until it suspends or ends, and then the fibers that go on at once.
  void run_fiber(fiber& next) noexcept;

  /// Calls the callbacks of the timers that are due. They run under the lock of the timers and may
  /// only claim their fiber and make it ready.
  void fire_timers() noexcept;

  /// never_ns when no timer is armed.
  std::uint64_t next_timer_ns() noexcept {
    if (armed_.load(std::memory_order_relaxed) == 0) return never_ns;
    std::lock_guard guard(timers_lock_);
    return timers_.next_deadline_ns();
  }

  /// From here on stopping() answers true; ends every sleep under way. See
  /// runtime_base::request_stop.
  void begin_stop() noexcept;
  void end_stop() noexcept { stopping_ = false; }

  /// The worker loop's start: from here on the calling thread is this worker.
  void enter_thread() noexcept;
  void leave_thread() noexcept;

 private:
  void leave_fiber() noexcept {
    HEDDLE_ASSERT(running_ != nullptr);
    context::switch_to(running_->flow, loop_);
  }

  static constexpr unsigned most_calls_in_turn = 64;

  static void retire(worker& self, fiber& finished, void*) noexcept;

  runtime_base& runtime_;
  const unsigned index_;
  // Written by this worker's thread only.
  context loop_;
  exception_state* exceptions_of_thread_ = nullptr;
  exception_state exceptions_of_caller_;
  unsigned calls_in_turn_ = 0;
  fiber* running_ = nullptr;
  fiber* resume_next_ = nullptr;
  bool stopping_ = false;
  /// What to do with the fiber that has just been left, on this worker's own stack.
  void (*after_switch_)(worker&, fiber&, void*) noexcept = nullptr;
  void* after_switch_argument_ = nullptr;
  fiber_list free_fibers_;
  std::uint64_t next_fiber_number_ = 0;
  worker_counters counters_;

  spin_lock timers_lock_;
  // Written under timers_lock_. Relaxed: this worker alone arms timers, so it never reads too few.
  std::atomic<std::size_t> armed_{0};
  timer_wheel timers_{now_ns()};  // guarded by timers_lock_
};

inline void worker::run_fiber(fiber& next) noexcept {
  for (fiber* at = &next; at != nullptr;) {
    counters_.fibers_run.add();
    running_ = at;
    resume_next_ = nullptr;
    calls_in_turn_ = 0;
    *exceptions_of_thread_ = at->exceptions;
    context::switch_to(loop_, at->flow);
    // The fiber is suspended, but nobody else knows it before after_switch_ has run.
    at->exceptions = *exceptions_of_thread_;
    *exceptions_of_thread_ = {};
    running_ = nullptr;
    after_switch_(*this, *at, after_switch_argument_);
    at = resume_next_;
  }
}

namespace detail {
/// Read by current_worker alone. The name is for its assembly.
extern thread_local constinit worker* worker_of_thread asm("heddle_worker_of_thread")
    __attribute__((tls_model("initial-exec")));
HEDDLE_OPAQUE worker* read_worker_of_thread() noexcept;
[[noreturn, gnu::cold]] void throw_no_fiber(const char* operation);
}  // namespace detail

/// The worker of the calling thread; nullptr on other threads. Never keep it across a suspension.
/// Each call reads it anew: see HEDDLE_OPAQUE, of which the assembly is the cheap form, since
/// nothing that touches memory, as a suspension does, passes it.
inline worker* current_worker() noexcept {
#if defined(__x86_64__) && defined(__LP64__)
  worker* current;
  asm volatile(
      "movq heddle_worker_of_thread@gottpoff(%%rip), %0\n\t"
      "movq %%fs:(%0), %0"
      : "=r"(current)
      :
      : "memory");
  return current;
#else
  return detail::read_worker_of_thread();
#endif
}

/// The running fiber's worker. Errors: std::logic_error naming `operation` outside a fiber.
inline worker& require_worker(const char* operation) {
  worker* const current = current_worker();
  if (current == nullptr || current->running() == nullptr) detail::throw_no_fiber(operation);
  return *current;
}

/// Lets a suspended fiber run. Threads: any; once for each suspension that was published.
void wake(fiber& fiber) noexcept;

/// One who waits, a fiber or a thread that runs none, and the verbs to park and wake it. Lives in
/// the frame of the one who waits.
class waiter {
 public:
  waiter() noexcept : worker_(current_worker()) {
    if (worker_ != nullptr) fiber_ = worker_->running();
  }
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;

  /// Waits for wake(). `publish(waiter&) -> bool` as in worker::suspend.
  template <class Publish>
  void park(Publish publish) noexcept {
    if (fiber_ != nullptr) {
      worker_->suspend([&](fiber&) noexcept { return publish(*this); });
    } else if (publish(*this)) {
      // [thread] acquire → release in wake: what the waker did before is seen.
      woken_.wait(0, std::memory_order_acquire);
    }
  }

  /// Threads: any; once after publish has made the waiter known.
  void wake() noexcept {
    if (fiber_ != nullptr) {
      heddle::wake(*fiber_);
    } else {
      // seq_cst: notify_one looks for sleepers after the store, which a release would not order.
      woken_.store(1, std::memory_order_seq_cst);
      woken_.notify_one();
    }
  }

  /// The worker that the waiter was made on; valid until it parks.
  worker* home() const noexcept { return worker_; }

 private:
  worker* worker_;
  fiber* fiber_ = nullptr;
  std::atomic<std::uint32_t> woken_{0};
};

}  // namespace heddle
