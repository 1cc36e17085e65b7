#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace heddle::bench {

enum class workload {
  pairwise,
  random,
  one_to_one,
  one_to_many,
  many_to_one,
  three_to_one,
  burst,
  empty_pop,
  nearly_full,
  ping_pong,
  owner_thieves,
};

inline constexpr unsigned most_threads = 256;

/// In ping-pong one round trip is timed where elsewhere so many operations pass between two
/// samples.
inline constexpr unsigned trips_share = 16;

/// Whether a queue can run a workload, and with how many threads.
struct workload_rule {
  workload what;
  std::string_view name;
  std::string_view meaning;
  unsigned least_threads = 1;
  unsigned most_threads = 0;  ///< 0: this queue's traits do not allow the workload
  unsigned multiple_of = 1;

  bool applies() const { return most_threads != 0; }
  bool allows(unsigned threads) const {
    return threads >= least_threads && threads <= most_threads && threads % multiple_of == 0;
  }
};

/// One run, as asked for on the command line.
struct options {
  workload what = workload::pairwise;
  std::string workload_name;
  unsigned threads = 1;
  double think_ns = 0;
  unsigned duration_ms = 100;      ///< when `operations` is 0
  std::uint64_t operations = 0;    ///< of all threads together; 0: until `duration_ms` are over
  double steal_percent = 1;        ///< of the owner's pushes, owner-thieves only
  std::size_t capacity_slots = 0;  ///< of a bounded queue; 0: its default
  unsigned sample_every = 256;     ///< mean distance of two timed operations; 0: none is timed
  std::uint64_t seed = 1;
  bool pin = true;     ///< thread i to the i-th processor of this process
  bool count = false;  ///< count obstacles and bytes instead of timing
};

/// The options, or the exit status when there is nothing to run: 0 after --help and --list, 2 after
/// one line on standard error that says what is wrong and what is allowed.
struct parsed {
  std::optional<options> run;
  int exit_status = 0;
};

parsed parse_command_line(int argc, char** argv, std::string_view queue,
                          std::span<const workload_rule> rules);

}  // namespace heddle::bench
