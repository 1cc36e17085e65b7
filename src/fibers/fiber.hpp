#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

#include <heddle/fibers/context.hpp>
#include <heddle/queues/queue_traits.hpp>

namespace heddle {

class runtime_base;

/// What the C++ ABI keeps per thread about exceptions in flight, and what therefore moves with a
/// fiber. The layout is fixed by the Itanium C++ ABI.
struct exception_state {
  void* caught_exceptions = nullptr;
  unsigned int uncaught_exceptions = 0;
};

/// The calling thread's exception state.
exception_state& current_exception_state() noexcept;

/// Control block of a fiber. It lies on the first page of the fiber's stack, above the callable and
/// the first frame, so that a parked fiber touches one page. The memory outlives the fiber: a pool
/// hands it to the next one.
class alignas(64) fiber : public queue_hook {
 public:
  /// States of `completion`; any other value points to the waiter of the one who joins.
  static constexpr std::uintptr_t running = 0;
  static constexpr std::uintptr_t done = 1;
  static constexpr std::uintptr_t detached = 2;

  context flow;
  exception_state exceptions;
  runtime_base* runtime = nullptr;
  /// Calls the callable and keeps its result; set by spawn.
  void (*run)(fiber&) noexcept = nullptr;
  /// Ends the outcome of a detached fiber, on the worker's stack.
  void (*discard)(fiber&) noexcept = nullptr;
  /// The callable and result, below this block; the stack starts below it.
  void* task = nullptr;
  std::atomic<std::uintptr_t> completion{running};
  std::uint64_t id = 0;
  /// Literal or otherwise immortal; what reports call this fiber.
  std::atomic<const char*> name{nullptr};
  /// Written by the thread that starts or retires the fiber; read by reports.
  std::atomic<bool> live{false};
  void* stack_bottom = nullptr;
};

/// Bytes of a fiber's memory that are free for its callable and stack.
inline std::size_t usable_bytes(const fiber& fiber) noexcept {
  return static_cast<std::size_t>(reinterpret_cast<const char*>(&fiber) -
                                  static_cast<const char*>(fiber.stack_bottom));
}

}  // namespace heddle
