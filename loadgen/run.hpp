#pragma once

#include "options.hpp"
#include "run_state.hpp"
#include "tally.hpp"

namespace heddle::load {

/// What all threads together measured, and how the run ended.
struct outcome {
  tally total;
  ending how = ending::none;
  double duration_s = 0;  ///< measured time; 0 when nothing was measured
};

/// Runs the load in threads of its own and waits for its end; SIGINT and SIGTERM end it early and
/// stay blocked for the calling thread. Errors: std::exception when the system refuses what the
/// threads need to begin.
outcome run_load(const options& run);

}  // namespace heddle::load
