#pragma once

#if defined(HEDDLE_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace heddle {

/// An object whose address travels through the kernel from one thread to another, which thereby
/// sees all that the first wrote before. ThreadSanitizer does not know it of every call, so it is
/// told.
inline void given_to_kernel([[maybe_unused]] void* object) noexcept {
#if defined(HEDDLE_TSAN)
  __tsan_release(object);
#endif
}

inline void got_from_kernel([[maybe_unused]] void* object) noexcept {
#if defined(HEDDLE_TSAN)
  __tsan_acquire(object);
#endif
}

}  // namespace heddle
