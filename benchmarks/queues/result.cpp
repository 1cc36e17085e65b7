#include "result.hpp"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include <heddle/base/processors.hpp>

namespace heddle::bench {
namespace {

using json = nlohmann::ordered_json;

template <class Value>
json or_null(const std::optional<Value>& value) {
  return value ? json(*value) : json(nullptr);
}

json ratio(double above, double below) { return below > 0 ? json(above / below) : json(nullptr); }

json describe(const histogram& times, double sampled_one_in) {
  if (times.samples() == 0) return nullptr;
  return {{"sampled_one_in", sampled_one_in},
          {"samples", times.samples()},
          {"p50_ns", or_null(times.quantile_ns(0.5))},
          {"p90_ns", or_null(times.quantile_ns(0.9))},
          {"p99_ns", or_null(times.quantile_ns(0.99))},
          {"p99_9_ns", or_null(times.quantile_ns(0.999))},
          {"max_ns", times.max_ns()}};
}

/// Also the histogram itself, so that those of several runs can be added.
json describe_whole(const histogram& times, double sampled_one_in) {
  json described = describe(times, sampled_one_in);
  if (times.samples() == 0) return described;
  json& buckets = described["histogram_ns_count"] = json::array();
  for (const auto& [ns, count] : times.buckets()) buckets.push_back({ns, count});
  return described;
}

json latencies(const options& run, const run_result& result) {
  histogram push, pop, both, trip;
  for (const thread_result& thread : result.threads) {
    push.add(thread.push_ns);
    pop.add(thread.pop_ns);
    trip.add(thread.round_trip_ns);
  }
  both.add(push);
  both.add(pop);
  const double every = run.sample_every;
  return {{"timer_cost_ns", result.timer_cost_ns},
          {"timer_cost", "subtracted from every sample"},
          {"push", describe_whole(push, every)},
          {"pop", describe_whole(pop, every)},
          {"operation", describe(both, every)},
          {"round_trip", describe_whole(trip, std::max(1u, run.sample_every / trips_share))}};
}

double seconds_of(const thread_result& thread, double ns_per_cycle) {
  return static_cast<double>(thread.end_cycles - thread.start_cycles) * ns_per_cycle / 1e9;
}

/// For each role how equally its threads got on.
json fairness(const run_result& result) {
  std::map<std::string_view, std::vector<double>> rates;
  for (const thread_result& thread : result.threads) {
    const double seconds = seconds_of(thread, result.ns_per_cycle);
    rates[thread.role].push_back(seconds > 0 ? static_cast<double>(thread.operations) / seconds
                                             : 0);
  }
  json roles = json::object();
  for (const auto& [role, rate] : rates) {
    double sum = 0;
    double squares = 0;
    for (const double one : rate) {
      sum += one;
      squares += one * one;
    }
    const auto [least, most] = std::minmax_element(rate.begin(), rate.end());
    roles[std::string(role)] = {
        {"threads", rate.size()},
        {"min_over_max", ratio(*least, *most)},
        {"jain", ratio(sum * sum, static_cast<double>(rate.size()) * squares)},
        {"operations_per_second", rate}};
  }
  return roles;
}

json steals(const options& run, const tallies& all) {
  if (run.what != workload::owner_thieves) return nullptr;
  return {{"asked_percent", run.threads > 1 ? run.steal_percent : 0},
          {"percent_of_pushes",
           ratio(100.0 * static_cast<double>(all.steals), static_cast<double>(all.pushes))},
          {"attempts", all.steal_attempts},
          {"steals", all.steals},
          {"success_ratio",
           ratio(static_cast<double>(all.steals), static_cast<double>(all.steal_attempts))}};
}

/// Time in the two halves of the rounds, of the threads that took part, without the barriers.
json burst_times(const options& run, const run_result& result, const tallies& all) {
  if (run.what != workload::burst) return nullptr;
  double fill_ns = 0;
  double drain_ns = 0;
  for (const thread_result& thread : result.threads) {
    if (thread.measured.pushes > 0)
      fill_ns += static_cast<double>(thread.fill_cycles) * result.ns_per_cycle;
    if (thread.measured.pops > 0)
      drain_ns += static_cast<double>(thread.drain_cycles) * result.ns_per_cycle;
  }
  return {{"fill_ns_per_push", ratio(fill_ns, static_cast<double>(all.pushes))},
          {"drain_ns_per_pop", ratio(drain_ns, static_cast<double>(all.pops))}};
}

json answers(const run_result& result, const tallies& all) {
  return {{"empty", all.empty_answers},
          {"contended", all.contended_answers},
          {"full", all.full_answers},
          {"item_waits", all.item_waits},
          {"false_empty", result.empty_is_false ? json(all.empty_answers) : json(nullptr)},
          {"false_full", result.full_is_false ? json(all.full_answers) : json(nullptr)}};
}

json obstacles_met(const options& run, const run_result& result, std::uint64_t operations) {
  if (!run.count || !result.can_count) return nullptr;
  std::uint64_t exchanges = 0;
  std::uint64_t locks = 0;
  for (const thread_result& thread : result.threads) {
    exchanges += thread.failed_compare_exchanges;
    locks += thread.contended_locks;
  }
  const auto all = static_cast<double>(operations);
  return {{"failed_compare_exchanges_per_operation", ratio(static_cast<double>(exchanges), all)},
          {"contended_locks_per_operation", ratio(static_cast<double>(locks), all)}};
}

}  // namespace

std::string to_json(std::string_view queue, const options& run, const run_result& result) {
  tallies all;
  std::uint64_t operations = 0;
  std::uint64_t start = ~std::uint64_t{0};
  std::uint64_t end = 0;
  double thread_ns = 0;
  for (const thread_result& thread : result.threads) {
    all.add(thread.measured);
    operations += thread.operations;
    start = std::min(start, thread.start_cycles);
    end = std::max(end, thread.end_cycles);
    thread_ns += seconds_of(thread, result.ns_per_cycle) * 1e9;
  }
  const double elapsed_ns = static_cast<double>(end - start) * result.ns_per_cycle;
  const json mean_ns = ratio(thread_ns, static_cast<double>(operations));
  const bool timed = !run.count;
  const json untimed = nullptr;
  json object = {
      {"schema", "heddle-queue-bench-1"},
      {"queue", queue},
      {"workload", run.workload_name},
      {"timed", timed},
      {"threads", run.threads},
      {"processors_usable", default_workers()},
      {"pinned", run.pin},
      {"think_asked_ns", run.think_ns},
      {"think_measured_ns", result.think_measured_ns},
      {"duration_asked_ms", run.operations == 0 ? json(run.duration_ms) : untimed},
      {"operations_asked", run.operations == 0 ? untimed : json(run.operations)},
      {"capacity_slots", result.capacity_slots},
      {"seed", run.seed},
      {"operations", operations},
      {"pushes", all.pushes},
      {"pops", all.pops},
      {"elapsed_ns", timed ? json(elapsed_ns) : untimed},
      {"mops_per_second",
       timed ? ratio(static_cast<double>(operations) * 1e3, elapsed_ns) : untimed},
      {"mean_ns_per_operation", timed ? mean_ns : untimed},
      {"mean_ns_per_operation_without_think",
       timed && operations > 0 ? json(mean_ns.get<double>() - result.think_measured_ns) : untimed},
      {"latency", timed ? latencies(run, result) : untimed},
      {"burst", timed ? burst_times(run, result, all) : untimed},
      {"fairness", timed ? fairness(result) : untimed},
      {"answers", answers(result, all)},
      {"steals", steals(run, all)},
      {"obstacles", obstacles_met(run, result, operations)},
      {"memory",
       {{"peak_kib", result.memory_peak_kib},
        {"peak_above_start_kib", result.memory_peak_kib - result.memory_before_kib},
        {"bytes_per_element", or_null(result.bytes_per_element)}}},
  };
  return object.dump();
}

}  // namespace heddle::bench
