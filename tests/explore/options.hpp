#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace heddle::explore {

/// sc: operations take effect one after the other. c11: the C++20 memory model, but for load
/// buffering (a load never reads a store that has not been executed yet).
enum class memory { sc, c11 };

/// random: in sc the PCT scheduler (Burckhardt et al., ASPLOS 2010), in c11 uniform choices.
enum class strategy { exhaustive, random };

struct options {
  memory model = memory::c11;
  strategy search = strategy::exhaustive;
  /// Most switches away from a thread that could go on; -1: any number. A bound turns sleep sets
  /// off, since what they leave out may be the only equivalent execution within the bound.
  int preemption_bound = -1;
  std::uint64_t most_executions = 1'000'000;
  /// Steps of all executions together; beyond them no other execution begins.
  std::uint64_t most_steps_in_all = std::numeric_limits<std::uint64_t>::max();
  /// Steps of one execution; beyond them it is cut, and counted.
  std::uint64_t most_steps = 5'000;
  std::uint64_t seed = 1;
  /// Leaves out executions that differ from an explored one only in the order of steps that
  /// commute.
  bool reduction = true;
  /// Seed text of an earlier failure: runs that one execution. The other options must be as they
  /// were. When this is empty, the environment variable HEDDLE_REPLAY is looked at.
  std::string replay{};
  /// PCT finds a bug of this depth with a known probability.
  unsigned pct_depth = 3;
  /// When given, a line with the number of executions is printed under this name.
  std::string name{};
};

struct failure {
  std::string what;   ///< one line
  std::string trace;  ///< the steps of the execution, threads in columns
  std::string seed;   ///< for options::replay
};

struct report {
  std::uint64_t executions = 0;  ///< that ran to their end, cut ones included
  /// Executions that ended in a spin that nobody could end any more, or had too many steps.
  std::uint64_t cut = 0;
  /// Executions that were given up because the rest of them had been explored before.
  std::uint64_t redundant = 0;
  std::uint64_t steps = 0;  ///< of all executions
  bool complete = false;    ///< nothing is left to explore within the bounds
  std::optional<failure> found;
};

}  // namespace heddle::explore
