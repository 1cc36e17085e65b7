#pragma once

#include <cstdio>
#include <cstdlib>

namespace heddle {

[[noreturn]] inline void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "heddle: assertion failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace heddle

/// An invariant at a state change. Checked unless NDEBUG, as assert is; the sanitizer builds and
/// the tests check it.
#if defined(NDEBUG)
#define HEDDLE_ASSERT(condition) static_cast<void>(sizeof(condition))
#else
#define HEDDLE_ASSERT(condition)                       \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::heddle::assertion_failed(#condition, __FILE__, __LINE__))
#endif
