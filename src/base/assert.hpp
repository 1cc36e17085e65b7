#pragma once

#include <cstdio>
#include <cstdlib>

namespace heddle {

/// Called first when an assertion fails, and need not return; nullptr: nobody. The interleaving
/// explorer makes a failed execution of it.
using assertion_handler = void (*)(const char* condition, const char* file, int line);
inline constinit assertion_handler on_assertion = nullptr;

[[noreturn]] inline void assertion_failed(const char* condition, const char* file, int line) {
  if (on_assertion != nullptr) on_assertion(condition, file, line);
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
