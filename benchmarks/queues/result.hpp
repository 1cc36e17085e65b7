#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "histogram.hpp"
#include "options.hpp"

namespace heddle::bench {

/// What one thread counted; sums are those of all threads.
struct tallies {
  std::uint64_t pushes = 0;  ///< that put an item in
  std::uint64_t pops = 0;    ///< that took an item out, steals included
  std::uint64_t empty_answers = 0;
  std::uint64_t contended_answers = 0;
  std::uint64_t full_answers = 0;
  std::uint64_t item_waits = 0;  ///< a push had to wait, since all items of the run were queued
  std::uint64_t steal_attempts = 0;
  std::uint64_t steals = 0;

  void add(const tallies& other) {
    pushes += other.pushes;
    pops += other.pops;
    empty_answers += other.empty_answers;
    contended_answers += other.contended_answers;
    full_answers += other.full_answers;
    item_waits += other.item_waits;
    steal_attempts += other.steal_attempts;
    steals += other.steals;
  }
};

/// What one thread measured. Cycles are those of cycle_count().
struct thread_result {
  std::string_view role;
  std::uint64_t start_cycles = 0;
  std::uint64_t end_cycles = 0;
  std::uint64_t operations = 0;
  tallies measured;
  tallies whole_run;  ///< with the warm-up
  histogram push_ns;
  histogram pop_ns;
  histogram round_trip_ns;
  std::uint64_t fill_cycles = 0;   ///< burst: of this thread's pushes
  std::uint64_t drain_cycles = 0;  ///< burst: of this thread's pops
  std::uint64_t failed_compare_exchanges = 0;
  std::uint64_t contended_locks = 0;
};

/// What one run found out.
struct run_result {
  std::vector<thread_result> threads;
  double ns_per_cycle = 0;
  double timer_cost_ns = 0;
  double think_measured_ns = 0;
  std::size_t capacity_slots = 0;
  bool empty_is_false = false;  ///< the workload never lets the queue run empty before a pop
  bool full_is_false = false;   ///< the workload never lets the queue run full before a push
  bool can_count = false;       ///< the queue runs on the platform `counting`
  std::uint64_t memory_before_kib = 0;
  std::uint64_t memory_peak_kib = 0;
  std::optional<double> bytes_per_element;
};

/// The run as one JSON object on one line; docs/measuring_queues.md explains the fields.
std::string to_json(std::string_view queue, const options& run, const run_result& result);

}  // namespace heddle::bench
