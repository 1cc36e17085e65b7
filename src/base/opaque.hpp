#pragma once

/// HEDDLE_OPAQUE on a function keeps the compiler from merging two of its calls. A fiber may
/// continue on another thread, so an address in thread-local storage that was computed before a
/// suspension is wrong after it; `noinline` alone does not help, since gcc 12 and clang 14 infer
/// that such a function always returns the same. clang has no noipa: there the function's body must
/// contain HEDDLE_OPAQUE_BODY.
#if defined(__clang__)
#define HEDDLE_OPAQUE __attribute__((noinline))
#define HEDDLE_OPAQUE_BODY asm volatile("")
#else
#define HEDDLE_OPAQUE __attribute__((noipa))
#define HEDDLE_OPAQUE_BODY static_cast<void>(0)
#endif

namespace heddle {

/// errno of the thread that runs the caller now. `errno` itself is declared const, so a compiler
/// may keep its address across a suspension.
HEDDLE_OPAQUE int current_errno() noexcept;

}  // namespace heddle
