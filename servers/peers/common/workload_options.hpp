#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "common/parameters.hpp"

namespace peers {

inline constexpr std::uint64_t most_spin_ns = 1'000'000'000;

/// A request spawns `fibers` tasks, each of which spins, and waits for all.
struct fanout_options {
  std::uint64_t fibers = 8;
  std::uint64_t work_ns = 0;

  auto parameters() {
    return std::array{parameter{"fibers", &fibers, 1, 10'000},
                      parameter{"work_ns", &work_ns, 0, most_spin_ns}};
  }
};

/// A request passes `hops` stages of its connection's lane in order; there are WORKERS lanes.
struct pipeline_options {
  std::uint64_t hops = 4;

  auto parameters() { return std::array{parameter{"hops", &hops, 1, 64}}; }
};

/// A request spins `short_us`, or `long_us` in `long_percent` of all cases.
struct imbalance_options {
  std::uint64_t short_us = 1;
  std::uint64_t long_us = 1000;
  std::uint64_t long_percent = 1;

  auto parameters() {
    return std::array{parameter{"short_us", &short_us, 0, most_spin_ns / 1000},
                      parameter{"long_us", &long_us, 0, most_spin_ns / 1000},
                      parameter{"long_percent", &long_percent, 0, 100}};
  }
};

/// All requests spin `hold_ns` one after another.
struct contended_options {
  static constexpr std::array<std::string_view, 2> modes{"mutex", "condition"};

  std::uint64_t mode = 0;  // an index into modes
  std::uint64_t hold_ns = 100;

  bool waits_for_condition() const { return mode == 1; }
  auto parameters() {
    return std::array{parameter{.name = "mode", .value = &mode, .words = modes},
                      parameter{"hold_ns", &hold_ns, 0, most_spin_ns}};
  }
};

/// A request sleeps `sleep_us`, while `idle` others sleep 10 to 100 ms over and over.
struct sleepers_options {
  std::uint64_t sleep_us = 1000;
  std::uint64_t idle = 10'000;

  auto parameters() {
    return std::array{parameter{"sleep_us", &sleep_us, 0, 10'000'000},
                      parameter{"idle", &idle, 0, 1'000'000}};
  }
};

}  // namespace peers
