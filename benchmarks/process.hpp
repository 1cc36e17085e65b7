#pragma once

#include <cstdint>
#include <string_view>

namespace heddle::bench {

/// A row of /proc/self/status in KiB, such as VmHWM: the most memory the process has had; 0 when
/// the system does not say.
std::uint64_t status_kib(std::string_view row);

/// Bytes that the program has allocated and not freed, as the allocator counts them.
std::uint64_t allocated_bytes();

/// Puts the calling thread on processor `number` of those that the process may use, counted from 0
/// and starting over after the last. Without effect where the system refuses.
void pin_to_processor(unsigned number);

}  // namespace heddle::bench
