#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace heddle::explore {

/// Keeps the memory that is freed while a client runs until that execution is over, so that a use
/// after free meets the remains of the object and not a new one.
class quarantine {
 public:
  bool on = false;

  /// False: the caller frees it.
  bool keep(void* memory) noexcept {
    if (!on || memory == nullptr) return false;
    if (size_ == room_) {
      const std::size_t room = room_ == 0 ? 1024 : 2 * room_;
      void* const grown = std::realloc(kept_, room * sizeof(void*));
      if (grown == nullptr) return false;
      kept_ = static_cast<void**>(grown);
      room_ = room;
    }
    kept_[size_++] = memory;
    return true;
  }

  void release() noexcept {
    while (size_ > 0) std::free(kept_[--size_]);
  }

 private:
  void** kept_ = nullptr;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
};

inline quarantine freed_memory;

}  // namespace heddle::explore

// AddressSanitizer has a quarantine of its own, and replaces these itself. Weak, since a program
// may have several files that include this; the program's own come before the library's.
#if !defined(HEDDLE_ASAN) && !defined(HEDDLE_TSAN)
[[gnu::weak]] void* operator new(std::size_t bytes) {
  if (void* const made = std::malloc(bytes != 0 ? bytes : 1)) return made;
  throw std::bad_alloc();
}

[[gnu::weak]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* const made = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return made;
  throw std::bad_alloc();
}

[[gnu::weak]] void operator delete(void* memory) noexcept {
  if (!heddle::explore::freed_memory.keep(memory)) std::free(memory);
}

[[gnu::weak]] void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

[[gnu::weak]] void operator delete(void* memory, std::align_val_t) noexcept {
  operator delete(memory);
}

[[gnu::weak]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  operator delete(memory);
}
#endif
