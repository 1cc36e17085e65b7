#pragma once

#include <cstddef>

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif

namespace heddle {

/// Tells valgrind, if the program runs under it, that `bytes` from `bottom` up are a stack: a
/// switch to it is then no sudden growth of the old one. A handful of instructions without effect
/// otherwise; nothing when the build has no valgrind header (Debian: valgrind).
inline void register_stack([[maybe_unused]] void* bottom, [[maybe_unused]] std::size_t bytes) {
#if defined(VALGRIND_STACK_REGISTER)
  VALGRIND_STACK_REGISTER(bottom, static_cast<char*>(bottom) + bytes - 1);
#endif
}

}  // namespace heddle
