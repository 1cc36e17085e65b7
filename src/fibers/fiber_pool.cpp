#include <atomic>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <sys/mman.h>
#include <unistd.h>

#include <heddle/base/opaque.hpp>
#include <heddle/base/valgrind.hpp>
#include <heddle/fibers/fiber_pool.hpp>

#if defined(HEDDLE_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace heddle {
namespace {

constexpr std::size_t slab_bytes = 16 * 1024 * 1024;
/// Control blocks of neighbours start at this many different offsets within a page, 64 bytes apart:
/// at one offset all fibers would compete for the same few sets of the first-level cache.
constexpr std::size_t colours = 16;
/// MADV_GUARD_INSTALL, which the C library of Debian 12 does not name.
constexpr int madvise_guard_install = 102;

std::size_t page_bytes() noexcept {
  static const std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Every slab of the process, for the signal handler. Guarded by all_slabs_lock against writers;
/// [slab] release store of the head → acquire load in guarded_by: a slab is complete before it is
/// seen. Slabs leave only when their pool dies, when none of its fibers runs.
std::mutex all_slabs_lock;
std::atomic<void*> all_slabs{nullptr};

void guard(char* page) {
  static std::atomic<bool> guard_regions{true};  // relaxed: a hint; a stale value costs one call
  if (guard_regions.load(std::memory_order_relaxed)) {
    if (madvise(page, page_bytes(), madvise_guard_install) == 0) return;
    if (errno == EINVAL) guard_regions.store(false, std::memory_order_relaxed);
  }
  if (mprotect(page, page_bytes(), PROT_NONE) != 0) {
    throw std::system_error(
        errno, std::system_category(),
        "no memory for the guard page of a fiber stack (each takes a mapping; the "
        "limit is sysctl vm.max_map_count)");
  }
}

}  // namespace

fiber_pool::fiber_pool(std::size_t stack_bytes) : stack_bytes_(stack_bytes) {
  if (stack_bytes < smallest_stack_bytes || stack_bytes > largest_stack_bytes ||
      stack_bytes % page_bytes() != 0) {
    throw std::invalid_argument("stack size " + std::to_string(stack_bytes) +
                                " is not allowed; a multiple of " + std::to_string(page_bytes()) +
                                " from " + std::to_string(smallest_stack_bytes) + " to " +
                                std::to_string(largest_stack_bytes) + " bytes");
  }
}

fiber_pool::~fiber_pool() {
  std::lock_guard guard(all_slabs_lock);
  for (const auto& mine : slabs_) {
    // Unlinking is rare and the list short: walk to the predecessor.
    slab* previous = nullptr;
    slab* at = static_cast<slab*>(all_slabs.load(std::memory_order_relaxed));
    for (; at != mine.get(); at = at->next_of_all) previous = at;
    if (previous == nullptr) {
      all_slabs.store(at->next_of_all, std::memory_order_release);
    } else {
      previous->next_of_all = at->next_of_all;
    }
#if defined(HEDDLE_ASAN)
    __asan_unpoison_memory_region(mine->memory, mine->stacks * mine->stack_bytes);
#endif
    munmap(mine->memory, mine->stacks * mine->stack_bytes);
  }
}

void fiber_pool::take(fiber_list& to, std::size_t count) {
  std::lock_guard guard(lock_);
  while (count > 0 && free_.size() > 0) {
    to.push(*free_.pop());
    --count;
  }
  // Fresh stacks are made one at a time: a cache that is filled ahead would cost memory that a
  // small program never uses.
  if (to.size() == 0) to.push(*carve());
}

void fiber_pool::give(fiber_list& from, std::size_t count) noexcept {
  std::lock_guard guard(lock_);
  for (; count > 0; --count) free_.push(*from.pop());
}

fiber* fiber_pool::block_of(const slab& slab, std::size_t index) noexcept {
  char* end = slab.memory + (index + 1) * slab.stack_bytes;
  return reinterpret_cast<fiber*>(end - sizeof(fiber) - (index % colours) * alignof(fiber));
}

fiber* fiber_pool::carve() {
  if (slabs_.empty() || slabs_.back()->used == slabs_.back()->stacks) add_slab();
  slab& slab = *slabs_.back();
  char* bottom = slab.memory + slab.used * stack_bytes_;
  guard(bottom);
  fiber* block = new (block_of(slab, slab.used)) fiber;
  block->stack_bottom = bottom + page_bytes();
  register_stack(block->stack_bottom, usable_bytes(*block));
  ++slab.used;
  return block;
}

void fiber_pool::add_slab() {
  auto added = std::make_unique<slab>();
  added->stack_bytes = stack_bytes_;
  added->stacks = stack_bytes_ > slab_bytes ? 1 : slab_bytes / stack_bytes_;
  const std::size_t bytes = added->stacks * stack_bytes_;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::system_error(errno, std::system_category(),
                            "no address space for fiber stacks (" + std::to_string(bytes) +
                                " bytes; limits: ulimit -v, sysctl vm.max_map_count, "
                                "vm.overcommit_memory)");
  }
  // A huge page would make every parked fiber cost 2 MiB. Kernels without huge pages refuse; fine.
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  added->memory = static_cast<char*>(memory);

  std::lock_guard guard(all_slabs_lock);
  added->next_of_all = static_cast<slab*>(all_slabs.load(std::memory_order_relaxed));
  all_slabs.store(added.get(), std::memory_order_release);
  slabs_.push_back(std::move(added));
}

const fiber* fiber_pool::guarded_by(const void* address) noexcept {
  const char* byte = static_cast<const char*>(address);
  for (auto* at = static_cast<slab*>(all_slabs.load(std::memory_order_acquire)); at != nullptr;
       at = at->next_of_all) {
    if (byte < at->memory || byte >= at->memory + at->stacks * at->stack_bytes) continue;
    const std::size_t offset = static_cast<std::size_t>(byte - at->memory);
    if (offset % at->stack_bytes >= page_bytes()) return nullptr;
    return block_of(*at, offset / at->stack_bytes);
  }
  return nullptr;
}

}  // namespace heddle
