#pragma once

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include <heddle/fibers/worker.hpp>

namespace heddle {

namespace detail {

struct nothing {};

template <class T>
using storable = std::conditional_t<std::is_void_v<T>, nothing, T>;

/// What a fiber runs, and afterwards what came of it. Lies on the fiber's stack.
template <class Result>
struct task_outcome {
  std::optional<storable<Result>> value;
  std::exception_ptr error;
};

template <class Result, class Callable, class... Arguments>
struct task : task_outcome<Result> {
  template <class F, class... A>
  explicit task(F&& function, A&&... arguments)
      : work(std::in_place, std::forward<F>(function), std::forward<A>(arguments)...) {}

  /// Calls the callable and destroys it: what it captured ends with the fiber, not with its handle.
  void operator()() {
    if constexpr (std::is_void_v<Result>) {
      call();
      this->value.emplace();
    } else {
      this->value.emplace(call());
    }
  }

  decltype(auto) call() {
    return std::apply(
        [](auto&& function, auto&&... arguments) -> decltype(auto) {
          return std::invoke(std::move(function), std::move(arguments)...);
        },
        std::move(*work));
  }

  std::optional<std::tuple<Callable, Arguments...>> work;
};

/// A free fiber for `runtime`, from the current worker's cache if it belongs to it, and the way
/// back.
fiber& fiber_for(runtime_base& runtime);
void recycle(fiber& fiber) noexcept;

/// Makes `fiber` ready to run its task, with its stack below the task; counts it as alive.
void start_fiber(fiber& fiber) noexcept;

/// Hands an exception that nobody will join to the runtime's handler.
void report_unhandled(runtime_base& runtime, std::exception_ptr error) noexcept;

template <class Result, class Task>
void run_task(fiber& self) noexcept {
  Task& task = *static_cast<Task*>(static_cast<task_outcome<Result>*>(self.task));
  try {
    task();
  } catch (...) {
    task.error = std::current_exception();
  }
  task.work.reset();
}

/// Ends the outcome that nobody will ask for.
template <class Result>
void discard_outcome(fiber& finished) noexcept {
  auto* outcome = static_cast<task_outcome<Result>*>(finished.task);
  if (outcome->error) report_unhandled(*finished.runtime, std::move(outcome->error));
  std::destroy_at(outcome);
}

template <class Result, class F, class... A>
fiber& make_fiber(runtime_base& runtime, F&& function, A&&... arguments) {
  using task_type = task<Result, std::decay_t<F>, std::decay_t<A>...>;
  fiber& made = fiber_for(runtime);
  char* block = reinterpret_cast<char*>(&made);
  constexpr std::size_t alignment = std::max(alignof(task_type), std::size_t{64});
  char* place = block - sizeof(task_type);
  place -= reinterpret_cast<std::uintptr_t>(place) % alignment;
  if (sizeof(task_type) > usable_bytes(made) / 4) {
    recycle(made);
    throw std::length_error("the callable of a fiber takes more than a quarter of its stack");
  }
  try {
    // Kept as the base, which is what is left when the work is gone.
    made.task = static_cast<task_outcome<Result>*>(
        new (place) task_type(std::forward<F>(function), std::forward<A>(arguments)...));
  } catch (...) {
    recycle(made);
    throw;
  }
  made.run = run_task<Result, task_type>;
  made.discard = discard_outcome<Result>;
  start_fiber(made);
  return made;
}

}  // namespace detail

/// Handle of a spawned fiber, for its result. One owner; destroying it lets the fiber go on
/// detached. Threads: any, one at a time; join waits as a fiber in a fiber and as a thread
/// elsewhere.
template <class Result>
class join_handle {
 public:
  join_handle() = default;
  explicit join_handle(fiber& fiber) noexcept : fiber_(&fiber) {}
  join_handle(join_handle&& other) noexcept : fiber_(std::exchange(other.fiber_, nullptr)) {}
  join_handle& operator=(join_handle&& other) noexcept {
    std::swap(fiber_, other.fiber_);
    return *this;
  }
  ~join_handle() { detach(); }

  /// The fiber has ended: join() will not wait.
  bool finished() const noexcept {
    return fiber_->completion.load(std::memory_order_acquire) == fiber::done;
  }
  bool joinable() const noexcept { return fiber_ != nullptr; }
  std::uint64_t id() const noexcept { return fiber_->id; }

  /// Waits for the fiber to end, and returns its result or throws its exception.
  /// Errors: std::logic_error when not joinable.
  Result join() {
    if (fiber_ == nullptr) throw std::logic_error("join of a handle that has no fiber");
    // [completion] acquire → release in worker::retire.
    if (fiber_->completion.load(std::memory_order_acquire) != fiber::done) {
      waiter self;
      self.park([this](waiter& me) noexcept {
        std::uintptr_t expected = fiber::running;
        return fiber_->completion.compare_exchange_strong(
            expected, reinterpret_cast<std::uintptr_t>(&me), std::memory_order_acq_rel,
            std::memory_order_acquire);
      });
    }
    detail::task_outcome<Result> outcome = take();
    if (outcome.error) std::rethrow_exception(std::move(outcome.error));
    if constexpr (!std::is_void_v<Result>) return std::move(*outcome.value);
  }

  /// Lets the fiber go on alone. What it throws then goes to the runtime's handler.
  void detach() noexcept {
    if (fiber_ == nullptr) return;
    std::uintptr_t expected = fiber::running;
    if (fiber_->completion.compare_exchange_strong(
            expected, fiber::detached, std::memory_order_acq_rel, std::memory_order_acquire)) {
      fiber_ = nullptr;
      return;
    }
    fiber& finished = *std::exchange(fiber_, nullptr);
    finished.discard(finished);
    detail::recycle(finished);
  }

 private:
  /// Moves the outcome of the finished fiber out and gives its memory back.
  detail::task_outcome<Result> take() {
    fiber& finished = *std::exchange(fiber_, nullptr);
    // The work of the task is gone; only its base, at a known offset, is left to end.
    auto* left = static_cast<detail::task_outcome<Result>*>(finished.task);
    detail::task_outcome<Result> outcome = std::move(*left);
    std::destroy_at(left);
    detail::recycle(finished);
    return outcome;
  }

  fiber* fiber_ = nullptr;
};

template <class F, class... A>
using spawn_result = std::invoke_result_t<std::decay_t<F>, std::decay_t<A>...>;

/// Starts a fiber that calls `function(arguments...)` with its own copies. It may run on any worker
/// of the runtime of the caller. Threads: in a fiber; elsewhere use runtime_base::spawn. Errors:
/// std::logic_error outside a fiber; std::system_error when no stack can be had.
template <class F, class... A>
requires std::invocable<std::decay_t<F>, std::decay_t<A>...> join_handle<spawn_result<F, A...>>
spawn(F&& function, A&&... arguments) {
  using result_type = spawn_result<F, A...>;
  worker& self = require_worker("spawn");
  fiber& made = detail::make_fiber<result_type>(self.runtime(), std::forward<F>(function),
                                                std::forward<A>(arguments)...);
  join_handle<result_type> handle(made);
  wake(made);
  return handle;
}

namespace this_fiber {

/// Lets every other fiber that may run go first.
inline void yield() { require_worker("yield").yield(); }

/// A number that no other fiber of the runtime has had.
inline std::uint64_t id() { return require_worker("id").running()->id; }

/// What reports call the running fiber; a literal or otherwise immortal text.
inline void set_name(const char* name) {
  require_worker("set_name").running()->name.store(name, std::memory_order_relaxed);
}

}  // namespace this_fiber

}  // namespace heddle
