#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <heddle/fibers/fiber.hpp>

namespace heddle {

/// Fibers that are free, as a list through their hooks.
class fiber_list {
 public:
  void push(fiber& item) noexcept {
    item.next_queued = head_;
    head_ = &item;
    ++size_;
  }

  fiber* pop() noexcept {
    fiber* item = static_cast<fiber*>(head_);
    if (item == nullptr) return nullptr;
    head_ = item->next_queued;
    --size_;
    return item;
  }

  std::size_t size() const noexcept { return size_; }

 private:
  queue_hook* head_ = nullptr;
  std::size_t size_ = 0;
};

/// Stacks with their control blocks, carved from slabs of address space that is reserved but not
/// committed. Each stack ends in a guard page: a guard region (Linux 6.13) where the kernel has
/// them, which costs no mapping, else a page of PROT_NONE, of which vm.max_map_count limits the
/// number.
///
/// Threads: any. Memory is returned to the system when the pool dies, not before: a runtime's
/// memory is that of its busiest moment.
class fiber_pool {
 public:
  static constexpr std::size_t smallest_stack_bytes = 16 * 1024;
  static constexpr std::size_t largest_stack_bytes = std::size_t{1} << 30;
  static constexpr std::size_t default_stack_bytes = 64 * 1024;

  /// `stack_bytes`: one stack with its guard page and control block; a multiple of the page size.
  /// Errors: std::invalid_argument that says what is allowed.
  explicit fiber_pool(std::size_t stack_bytes);
  ~fiber_pool();
  fiber_pool(const fiber_pool&) = delete;
  fiber_pool& operator=(const fiber_pool&) = delete;

  /// Moves up to `count` and at least one free fiber to `to`.
  /// Errors: std::system_error that names the limit which the system has reached.
  void take(fiber_list& to, std::size_t count);

  /// Takes `count` fibers back from `from`.
  void give(fiber_list& from, std::size_t count) noexcept;

  /// Calls `visit(const fiber&)` for each fiber that was ever handed out.
  template <class Visit>
  void for_each(Visit visit) {
    std::lock_guard guard(lock_);
    for (const auto& slab : slabs_)
      for (std::size_t i = 0; i < slab->used; ++i) visit(*block_of(*slab, i));
  }

  /// The fiber in whose guard page `address` lies, of any pool; nullptr if none. Async-signal-safe.
  static const fiber* guarded_by(const void* address) noexcept;

 private:
  struct slab {
    char* memory;
    std::size_t stack_bytes;
    std::size_t stacks;
    std::size_t used = 0;
    slab* next_of_all = nullptr;
  };

  static fiber* block_of(const slab& slab, std::size_t index) noexcept;
  fiber* carve();
  void add_slab();

  const std::size_t stack_bytes_;
  std::mutex lock_;
  fiber_list free_;                           // guarded by lock_
  std::vector<std::unique_ptr<slab>> slabs_;  // guarded by lock_
};

/// Installs, once a process, the handler that says "stack overflow in fiber N" when a fiber runs
/// into its guard page, and passes every other fault on. Each thread that runs fibers needs an
/// alternate signal stack: it holds one of these.
class overflow_reporter {
 public:
  overflow_reporter();
  ~overflow_reporter();
  overflow_reporter(const overflow_reporter&) = delete;
  overflow_reporter& operator=(const overflow_reporter&) = delete;

 private:
  std::unique_ptr<char[]> signal_stack_;
};

}  // namespace heddle
