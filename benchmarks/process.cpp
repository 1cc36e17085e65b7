#include "process.hpp"

#include <fstream>
#include <string>

#include <malloc.h>
#include <sched.h>

namespace heddle::bench {

std::uint64_t status_kib(std::string_view row) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(row) && line[row.size()] == ':')
      return std::stoull(line.substr(row.size() + 1));
  return 0;
}

std::uint64_t allocated_bytes() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

void pin_to_processor(unsigned number) {
  // What the thread may use is what the process may: it has just been made.
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) == 0) return;
  unsigned left = number % static_cast<unsigned>(CPU_COUNT(&allowed));
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &allowed) || left-- != 0) continue;
    cpu_set_t chosen;
    CPU_ZERO(&chosen);
    CPU_SET(processor, &chosen);
    sched_setaffinity(0, sizeof chosen, &chosen);
    return;
  }
}

}  // namespace heddle::bench
