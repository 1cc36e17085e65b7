#pragma once

#include <array>
#include <cstddef>
#include <new>

#include <boost/context/detail/fcontext.hpp>
#include <explore/vector_clock.hpp>
#include <sys/mman.h>

#include <heddle/fibers/context.hpp>

#if defined(HEDDLE_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace heddle::explore {

/// The stacks that model threads run on, kept from execution to execution. A stack's flow loops: it
/// runs a body and switches away, and goes on with the next body when it is switched to again.
class fibers {
 public:
  fibers() = default;
  fibers(const fibers&) = delete;
  fibers& operator=(const fibers&) = delete;
  ~fibers() {
    for (one& fiber : all_) {
      if (fiber.memory == nullptr) continue;
      if (fiber.started) fiber.flow.destroy();
      forget(fiber);
      munmap(fiber.memory, bytes);
    }
  }

  /// Continues `to`, or starts `entry` there; `from` is the thread that runs now, or `main`.
  void switch_to(unsigned from, unsigned to, context::entry_point entry) {
    if (to != main) prepare(all_[to], entry);
    context::switch_to(flow(from), flow(to));
  }

  context& flow(unsigned index) noexcept { return index == main ? main_ : all_[index].flow; }

  /// What runs on the stack was left in the middle, and is never continued.
  void abandon(unsigned index) noexcept {
    one& fiber = all_[index];
    if (!fiber.started) return;
    fiber.flow.destroy();
    fiber.started = false;
    forget(fiber);
  }

  static constexpr unsigned main = most_threads;

 private:
  static constexpr std::size_t bytes = 256 * 1024;
  static constexpr std::size_t guard_bytes = 4096;

  struct one {
    void* memory = nullptr;
    bool started = false;
    context flow;
  };

  static void prepare(one& fiber, context::entry_point entry) {
    if (fiber.started) return;
    if (fiber.memory == nullptr) {
      void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) throw std::bad_alloc();
      mprotect(memory, guard_bytes, PROT_NONE);
      fiber.memory = memory;
    }
    char* const bottom = static_cast<char*>(fiber.memory);
    fiber.flow.start(bottom + guard_bytes, bottom + bytes, entry);
    fiber.started = true;
  }

  /// AddressSanitizer remembers the frames that were left.
  static void forget([[maybe_unused]] one& fiber) noexcept {
#if defined(HEDDLE_ASAN)
    __asan_unpoison_memory_region(static_cast<char*>(fiber.memory) + guard_bytes,
                                  bytes - guard_bytes);
#endif
  }

  context main_;
  std::array<one, most_threads> all_;
};

}  // namespace heddle::explore
