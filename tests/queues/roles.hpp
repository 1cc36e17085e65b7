#pragma once

#include "queue_test.hpp"

namespace heddle::queue_test {

/// What one thread of several may do with the queue under test. Where there is an owner it is the
/// first; where there is one consumer, who owns nothing, it is the last.
struct abilities {
  bool pushes;
  bool pops;
  bool steals;

  bool takes() const { return pops || steals; }
};

template <class Queue>
constexpr abilities abilities_of(std::size_t thread, std::size_t threads) {
  const bool first = thread == 0;
  const bool last = thread + 1 == threads;
  const bool has_steal = requires(Queue & queue, typename Queue::handle & handle) {
    queue.try_steal(handle);
  };
  return {.pushes = traits.push == role::any || first,
          .pops = traits.pop == role::any || (traits.pop == role::owner ? first : last),
          .steals = has_steal && traits.steal == role::any && !first};
}

/// Who looks for what is left when all others have finished.
constexpr std::size_t drainer(std::size_t threads) {
  return traits.pop == role::one ? threads - 1 : 0;
}

}  // namespace heddle::queue_test
