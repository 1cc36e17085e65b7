#pragma once

#include <cstdint>

#include "tally.hpp"

namespace heddle::load {

/// What the calling thread costs from construction on.
class thread_cost {
 public:
  thread_cost();

  /// Adds processor time; raises the busiest share to the share of the elapsed time in which this
  /// thread ran or was ready to. By the same thread.
  void add_to(tally& result) const;

 private:
  struct reading {
    std::uint64_t wall_ns;
    std::uint64_t user_ns;
    std::uint64_t system_ns;
    std::uint64_t ready_ns;  // waited for a processor; 0 where the kernel does not tell
  };
  static reading read();

  reading start_;
};

}  // namespace heddle::load
