#include "checks.hpp"

#include <cmath>

namespace heddle::load {
namespace {

constexpr double tolerance = 0.05;
constexpr double lag_share = 0.1;
constexpr double wake_up_ns = 100e3;
constexpr double busy_share = 0.9;

double mean_pause_s(const tally& total) {
  if (total.pauses == 0) return 0;
  return static_cast<double>(total.pauses_ns) / static_cast<double>(total.pauses) * 1e-9;
}

/// The time average over exactly the measured time, from what began and ended within it and from
/// what its ends cut off.
double requests_in_system(const outcome& measured) {
  const tally& total = measured.total;
  const double duration_ns = measured.duration_s * 1e9;
  const double sum_ns = static_cast<double>(total.in_time_ns + total.pauses_ns + total.cut_off_ns) +
                        static_cast<double>(total.retired) * duration_ns - total.retired_after_ns;
  return sum_ns / duration_ns;
}

}  // namespace

std::string_view name_of(verdict one) {
  return one == verdict::pass ? "pass" : one == verdict::warn ? "warn" : "fail";
}

double throughput_rps(const outcome& measured) {
  if (measured.duration_s <= 0) return 0;
  return static_cast<double>(measured.total.responses_in_time) / measured.duration_s;
}

littles_law check_littles_law(const options& run, const outcome& measured) {
  const tally& total = measured.total;
  littles_law law;
  law.expected = static_cast<double>(run.connections) * run.pipeline;
  if (run.paces == mode::open)
    law.expected =
        measured.duration_s > 0 ? total.request_ns_in_system * 1e-9 / measured.duration_s : 0;
  const double cycle_s = total.latency.mean_ns() * 1e-9 + mean_pause_s(total);
  law.value = throughput_rps(measured) * cycle_s;
  if (total.responses == 0 || law.expected <= 0) {
    law.relative_difference = 1;
    return law;
  }
  law.relative_difference = std::abs(law.value - law.expected) / law.expected;
  if (law.relative_difference <= tolerance)
    law.result = verdict::pass;
  else if (std::abs(requests_in_system(measured) - law.expected) <= tolerance * law.expected)
    law.result = verdict::warn;
  return law;
}

lag_check check_send_lag(const options& run, const outcome& measured) {
  const tally& total = measured.total;
  lag_check check;
  check.busiest_thread_share = total.busiest_share;
  if (total.latency.samples() == 0) return check;
  const double lag_ns = total.send_lag.mean_ns();
  const double latency_ns = total.latency.mean_ns();
  check.relative_to_latency = latency_ns > 0 ? lag_ns / latency_ns : 0;
  if (check.relative_to_latency <= lag_share || (run.paces != mode::closed && lag_ns <= wake_up_ns))
    check.result = verdict::pass;
  else
    check.result = total.busiest_share >= busy_share ? verdict::fail : verdict::warn;
  return check;
}

verdict check_connections(const options& run, const outcome& measured) {
  return measured.total.connected == run.connections ? verdict::pass : verdict::fail;
}

}  // namespace heddle::load
