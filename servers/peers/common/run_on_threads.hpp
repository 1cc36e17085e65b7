#pragma once

#include <system_error>
#include <thread>
#include <vector>

#include "common/stop_event.hpp"

namespace peers {

/// Calls `work(0)` to `work(count - 1)`, each on a thread of its own, the first on the caller's;
/// returns when all have returned, which a stop signal must bring about. When a thread cannot be
/// started, stops those that were and throws std::system_error.
template <class Work>
void run_on_threads(unsigned count, Work work) {
  std::vector<std::jthread> threads;  // joins when it goes
  threads.reserve(count);
  try {
    for (unsigned index = 1; index < count; ++index) threads.emplace_back(work, index);
  } catch (const std::system_error& error) {
    request_stop();
    throw std::system_error(error.code(), "thread");
  }
  work(0U);
}

}  // namespace peers
