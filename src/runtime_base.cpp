#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <heddle/base/platform.hpp>
#include <heddle/runtime_base.hpp>

namespace heddle {
namespace {

constexpr unsigned most_workers = 1024;

runtime_options checked(runtime_options options) {
  if (options.workers == 0) options.workers = default_workers();
  if (options.workers > most_workers) {
    throw std::invalid_argument(std::to_string(options.workers) +
                                " workers are not allowed; 1 to " + std::to_string(most_workers));
  }
  return options;
}

/// Held by whoever closes a direction with an operation under way, from the moment that it finds
/// it: the fiber of that operation, and with it the runtime, may end at once. run() passes here
/// before it returns.
std::mutex& closers_lock() noexcept {
  static std::mutex lock;
  return lock;
}

void entry_of_fiber(boost::context::detail::transfer_t transfer) {
  context::mark_outermost_frame();
  fiber& self = *current_worker()->running();
  context::entered(transfer, self.flow);
  self.run(self);
  worker::end_fiber(self);
}

}  // namespace

namespace detail {

fiber& fiber_for(runtime_base& runtime) {
  worker* current = current_worker();
  if (current != nullptr && &current->runtime() == &runtime) return current->allocate_fiber();
  return runtime.allocate_fiber_from_outside();
}

void recycle(fiber& fiber) noexcept {
  worker* current = current_worker();
  if (current != nullptr && &current->runtime() == fiber.runtime) {
    current->recycle_fiber(fiber);
  } else {
    fiber_list one;
    one.push(fiber);
    fiber.runtime->fibers().give(one, 1);
  }
}

void start_fiber(fiber& fiber) noexcept {
  fiber.completion.store(fiber::running, std::memory_order_relaxed);
  fiber.name.store(nullptr, std::memory_order_relaxed);
  fiber.exceptions = {};
  const std::uintptr_t top = reinterpret_cast<std::uintptr_t>(fiber.task) & ~std::uintptr_t{63};
  fiber.flow.start(fiber.stack_bottom, reinterpret_cast<void*>(top), entry_of_fiber);
  fiber.live.store(true, std::memory_order_relaxed);
  // Before the fiber can run and end, so that the number of live fibers is never seen too low.
  worker* current = current_worker();
  if (current != nullptr && &current->runtime() == fiber.runtime) {
    current->counters().fibers_spawned.add();
  } else {
    fiber.runtime->count_spawn_from_outside();
  }
}

void report_unhandled(runtime_base& runtime, std::exception_ptr error) noexcept {
  runtime.report_unhandled(std::move(error));
}

}  // namespace detail

runtime_base::runtime_base(runtime_options options)
    : options_(checked(std::move(options))), fibers_(options_.stack_bytes) {}

runtime_base::~runtime_base() = default;

fiber& runtime_base::allocate_fiber_from_outside() {
  fiber_list one;
  fibers_.take(one, 1);
  fiber& taken = *one.pop();
  taken.runtime = this;
  taken.id = outside_ids_.fetch_add(1, std::memory_order_relaxed) * (workers() + 1);
  return taken;
}

void runtime_base::request_stop() noexcept {
  // [stop] seq_cst: before the wake-up, so that a woken worker sees it.
  if (!stop_.exchange(true, std::memory_order_seq_cst)) wake_all();
}

std::uint64_t runtime_base::drain_end_ns() noexcept {
  if (!stop_requested()) return never_ns;
  std::uint64_t end = drain_end_ns_.load(std::memory_order_relaxed);
  if (end != never_ns) return end;
  // The first worker to notice the stop fixes the end; a signal handler cannot.
  const std::uint64_t mine = deadline(options_.drain_limit).at_ns();
  if (drain_end_ns_.compare_exchange_strong(end, mine, std::memory_order_relaxed)) return mine;
  return end;
}

void runtime_base::finish() noexcept {
  if (!finished_.exchange(true, std::memory_order_seq_cst)) wake_all();
}

void runtime_base::abandon() noexcept {
  drain_passed_.store(true, std::memory_order_relaxed);  // read after the threads were joined
  finish();
}

counter_values runtime_base::stats() const noexcept {
  counter_values sum;
  for (unsigned i = 0; i < workers(); ++i) add_to(sum, worker_at(i).counters());
  sum.fibers_spawned += outside_spawns_.load(std::memory_order_relaxed);
  return sum;
}

std::uint64_t runtime_base::live_fibers() const noexcept {
  // Ends are summed before starts: a fiber that starts and ends in between makes the number too
  // high, never too low.
  std::uint64_t finished = 0;
  for (unsigned i = 0; i < workers(); ++i)
    finished += worker_at(i).counters().fibers_finished.load();
  std::atomic_thread_fence(std::memory_order_acquire);
  std::uint64_t started = outside_spawns_.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < workers(); ++i) started += worker_at(i).counters().fibers_spawned.load();
  return started - finished;
}

std::size_t runtime_base::armed_timers() noexcept {
  std::size_t armed = 0;
  for (unsigned i = 0; i < workers(); ++i) armed += worker_at(i).armed_timers();
  return armed;
}

void runtime_base::report_unhandled(std::exception_ptr error) noexcept {
  if (options_.on_unhandled_exception) return options_.on_unhandled_exception(std::move(error));
  try {
    std::rethrow_exception(std::move(error));
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "heddle: an exception left a detached fiber: %s\n", exception.what());
  } catch (...) {
    std::fprintf(stderr, "heddle: an exception of unknown type left a detached fiber\n");
  }
  std::terminate();
}

void runtime_base::begin_run() {
  if (current_worker() != nullptr)
    throw std::logic_error("run() was called in a fiber, or in another runtime's run()");
  if (abandoned_) throw std::logic_error("run() after a run that abandoned fibers");
  if (running_.exchange(true)) throw std::logic_error("run() while the runtime runs");
  try {
    prepare_run();
  } catch (...) {
    running_.store(false);
    throw;
  }
}

void runtime_base::give_up_run() noexcept {
  after_run();
  running_.store(false);
}

bool runtime_base::close_under_way(file_reference file, direction which) noexcept {
  std::lock_guard guard(closers_lock());
  descriptor& target = file.target();
  const descriptor_side::closing found = target.side(which).close(file.generation());
  // An operation is under way: its end releases the direction.
  if (!found.released) target.user.load(std::memory_order_relaxed)->cancel(file, which, found);
  return !found.released;
}

void runtime_base::end_flow(file_reference file) noexcept {
  std::lock_guard guard(closers_lock());
  const inflow& flow = file.target().flow;
  if (const std::uint32_t home = flow.home(); home != inflow::nowhere)
    flow.user()->cancel(file, direction::read, {.under_way = true, .home = home});
}

void release(file_reference file, direction which) noexcept {
  if (which == direction::read && file.target().flow.is_armed()) runtime_base::end_flow(file);
  file.target().release();
}

void runtime_base::run_workers() {
  std::vector<std::thread> threads;
  std::exception_ptr failure;
  try {
    for (unsigned i = 1; i < workers(); ++i) threads.emplace_back([this, i] { loop(i); });
  } catch (const std::system_error& error) {
    failure = std::make_exception_ptr(std::system_error(
        error.code(), "cannot start worker thread " + std::to_string(threads.size() + 1) + " of " +
                          std::to_string(workers()) + " (limits: ulimit -u, cgroup pids.max)"));
    finish();
  }
  if (!failure) loop(0);
  for (std::thread& thread : threads) thread.join();
  after_run();
  // A plain thread that woke the last fiber may still be on its way out of this runtime.
  backoff<native> wait;
  while (outside_wakers_.load(std::memory_order_acquire) != 0) wait();
  // Likewise one that closed what the last fiber used.
  closers_lock().lock();
  closers_lock().unlock();

  // Without that limit, what is alive came from outside after the last fiber had ended: it belongs
  // to the next run.
  if (drain_passed_.exchange(false) && live_fibers() > 0) {
    abandoned_ = true;
    report_abandoned();
    // What the abandoned fibers did with files is void: their frames go with this runtime.
    descriptor::for_each([this](descriptor& target) noexcept {
      if (target.user.load(std::memory_order_relaxed) != this) return;
      for (const direction which : {direction::read, direction::write})
        if (target.side(which).abandon(target.generation())) target.release();
    });
  }
  stop_.store(false);
  finished_.store(false);
  drain_end_ns_.store(never_ns);
  running_.store(false);
  if (failure) std::rethrow_exception(failure);
}

void runtime_base::throw_abandoned_root() {
  throw std::runtime_error("the root fiber had not ended when the drain limit passed");
}

void runtime_base::report_abandoned() {
  constexpr int most_named = 20;
  int named = 0;
  std::fprintf(stderr, "heddle: %llu fibers still ran when the drain limit passed:",
               static_cast<unsigned long long>(live_fibers()));
  fibers_.for_each([&](const fiber& fiber) {
    if (!fiber.live.load(std::memory_order_relaxed) || ++named > most_named) return;
    const char* name = fiber.name.load(std::memory_order_relaxed);
    std::fprintf(stderr, " %llu%s%s%s", static_cast<unsigned long long>(fiber.id), name ? " (" : "",
                 name ? name : "", name ? ")" : "");
  });
  std::fprintf(stderr, "%s\n", named > most_named ? " ..." : "");
}

}  // namespace heddle
