#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <heddle/base/processors.hpp>
#include <heddle/fibers/spawn.hpp>
#include <heddle/fibers/worker.hpp>
#include <heddle/pollers/descriptor.hpp>
#include <heddle/schedulers/tuning.hpp>

namespace heddle {

struct runtime_options {
  /// Threads that run fibers, the caller of run() among them; 1 to 1024. 0: default_workers().
  unsigned workers = 0;
  /// Address space of each fiber's stack, guard page included; a multiple of the page size from 16
  /// KiB.
  std::size_t stack_bytes = fiber_pool::default_stack_bytes;
  /// Slots of a bounded run queue; 0: the queue's default. Ignored by unbounded queues.
  std::size_t queue_capacity_slots = 0;
  heddle::tuning tuning{};
  /// How long run() waits, after a stop was requested, for fibers to end.
  std::chrono::nanoseconds drain_limit = std::chrono::seconds(5);
  /// Receives an exception that leaves a detached fiber. Called outside any fiber, so it must not
  /// suspend. Default: prints it and calls std::terminate.
  std::function<void(std::exception_ptr)> on_unhandled_exception{};
};

/// What every runtime does, whatever its combination.
///
/// Threads: every member any, unless it says otherwise.
class runtime_base {
 public:
  /// Errors: std::invalid_argument that says what is allowed.
  explicit runtime_base(runtime_options options);
  virtual ~runtime_base();
  runtime_base(const runtime_base&) = delete;
  runtime_base& operator=(const runtime_base&) = delete;

  /// "POLLER-SCHEDULER-QUEUE".
  virtual std::string_view name() const noexcept = 0;
  unsigned workers() const noexcept { return options_.workers; }
  const runtime_options& options() const noexcept { return options_; }

  /// Runs `root` in a fiber and returns its result when it and every other fiber have ended. The
  /// calling thread works as one of the workers.
  ///
  /// A root that throws requests a stop; run() then throws the exception. After a stop was
  /// requested, fibers that have not ended within `drain_limit` are named on standard error and
  /// abandoned: their stacks are freed without unwinding. The runtime may run again afterwards
  /// unless some were. Errors: what `root` throws; std::logic_error when it runs already or was
  /// abandoned.
  template <class Root>
  spawn_result<Root> run(Root&& root) {
    begin_run();
    using result_type = spawn_result<Root>;
    join_handle<result_type> handle;
    try {
      handle = start<result_type>([this, root = std::forward<Root>(root)]() mutable -> result_type {
        try {
          return root();
        } catch (...) {
          request_stop();
          throw;
        }
      });
    } catch (...) {
      give_up_run();
      throw;
    }
    run_workers();
    if (!handle.finished()) throw_abandoned_root();
    return handle.join();
  }

  /// Starts a fiber from any thread, also before run(); from a fiber, heddle::spawn is cheaper.
  template <class F, class... A>
  join_handle<spawn_result<F, A...>> spawn(F&& function, A&&... arguments) {
    return start<spawn_result<F, A...>>(std::forward<F>(function), std::forward<A>(arguments)...);
  }

  /// Ends waiting: accept, reads and sleeps under way, and later ones that would wait, fail with
  /// operation_canceled. Async-signal-safe.
  void request_stop() noexcept;

  /// The sum over all workers since the runtime was made.
  counter_values stats() const noexcept;
  /// Fibers that have been started and have not ended.
  std::uint64_t live_fibers() const noexcept;
  /// Timers armed now.
  std::size_t armed_timers() noexcept;

  // For the layers between fibers and runtimes:

  fiber_pool& fibers() noexcept { return fibers_; }
  fiber& allocate_fiber_from_outside();
  /// Queues a fiber from a thread that is no worker of this runtime.
  void make_ready_from_outside(fiber& fiber) noexcept {
    // Relaxed: until it is pushed, the fiber itself keeps the run from ending.
    outside_wakers_.fetch_add(1, std::memory_order_relaxed);
    push_from_outside(fiber);
    // [outside] release -> acquire in run_workers: the caller has done with the runtime.
    outside_wakers_.fetch_sub(1, std::memory_order_release);
  }
  /// Closes a direction of `file` on which an operation seems to be under way, and asks its runtime
  /// to end it. False: it has ended by itself, and the caller must release the direction.
  /// Threads: any, also those of other runtimes.
  static bool close_under_way(file_reference file, direction which) noexcept;
  /// Asks for the end of an armed receive of `file`, which comes later. Threads: any.
  static void end_flow(file_reference file) noexcept;
  /// Ends what `closing` found under way on a direction of `file`.
  virtual void cancel(file_reference file, direction which,
                      const descriptor_side::closing& closing) noexcept = 0;
  void report_unhandled(std::exception_ptr error) noexcept;
  void count_spawn_from_outside() noexcept {
    outside_spawns_.fetch_add(1, std::memory_order_relaxed);
  }

 protected:
  /// What the worker loops share.
  bool stop_requested() const noexcept { return stop_.load(std::memory_order_seq_cst); }
  /// Ends the loops: everything has ended, or the drain limit has passed.
  bool finished() const noexcept { return finished_.load(std::memory_order_seq_cst); }
  void finish() noexcept;
  /// The drain limit has passed: ends the loops and leaves what still runs.
  void abandon() noexcept;
  /// now_ns() at which the drain ends; never_ns before a stop.
  std::uint64_t drain_end_ns() noexcept;

  /// Pushes the fiber and wakes a worker for it. The fiber may have ended, and with it the run,
  /// before this returns; run() waits for that.
  virtual void push_from_outside(fiber& fiber) noexcept = 0;
  virtual void wake_all() noexcept = 0;
  virtual void loop(unsigned index) noexcept = 0;
  virtual worker& worker_at(unsigned index) noexcept = 0;
  virtual const worker& worker_at(unsigned index) const noexcept = 0;
  /// Makes the poller usable for a first or another run. Errors: std::system_error.
  virtual void prepare_run() = 0;
  /// The workers have ended.
  virtual void after_run() noexcept = 0;

 private:
  template <class Result, class F, class... A>
  join_handle<Result> start(F&& function, A&&... arguments) {
    fiber& made =
        detail::make_fiber<Result>(*this, std::forward<F>(function), std::forward<A>(arguments)...);
    join_handle<Result> handle(made);
    wake(made);
    return handle;
  }

  [[noreturn]] static void throw_abandoned_root();
  void begin_run();
  void run_workers();
  /// Ends a run that could not start.
  void give_up_run() noexcept;
  void report_abandoned();

  runtime_options options_;
  fiber_pool fibers_;
  // Relaxed: counts; the fibers themselves are handed over by the queues.
  std::atomic<std::uint64_t> outside_spawns_{0};
  std::atomic<std::uint64_t> outside_ids_{1};
  std::atomic<unsigned> outside_wakers_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> finished_{false};
  std::atomic<std::uint64_t> drain_end_ns_{never_ns};
  std::atomic<bool> running_{false};
  std::atomic<bool> drain_passed_{false};
  bool abandoned_ = false;  // written and read by the caller of run()
};

}  // namespace heddle
