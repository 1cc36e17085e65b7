#pragma once

#include <cstddef>

namespace heddle {

/// Bytes by which fields of different writers are kept apart. Two 64-byte lines, since x86
/// prefetches lines in pairs; std::hardware_destructive_interference_size varies with compiler
/// flags, so a header that is part of an ABI cannot use it.
inline constexpr std::size_t cache_line_bytes = 128;

}  // namespace heddle
