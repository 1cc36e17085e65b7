#include "result.hpp"

#include <nlohmann/json.hpp>

#include "checks.hpp"

namespace heddle::load {
namespace {

using json = nlohmann::ordered_json;

const char* name_of_ending(ending how) {
  switch (how) {
    case ending::planned:
      return "planned";
    case ending::signal:
      return "signal";
    case ending::not_connected:
      return "not_connected";
    case ending::server_gone:
      return "server_gone";
    case ending::no_response:
      return "no_response";
    case ending::none:
    case ending::failed:
      break;
  }
  return "failed";
}

json errors_of(const tally& total) {
  json errors = json::object();
  for (std::size_t kind = 0; kind < failure_names.size(); ++kind)
    errors[std::string(failure_names[kind])] = total.errors[kind];
  return errors;
}

json latency_of(const options& run, const histogram& times) {
  if (times.samples() == 0) return nullptr;
  return {{"unit", "ns"},
          {"from", run.paces == mode::open ? "intended" : "send"},
          {"mean", times.mean_ns()},
          {"min", times.min_ns()},
          {"max", times.max_ns()},
          {"p50", times.quantile_ns(0.5)},
          {"p75", times.quantile_ns(0.75)},
          {"p90", times.quantile_ns(0.9)},
          {"p99", times.quantile_ns(0.99)},
          {"p999", times.quantile_ns(0.999)},
          {"p9999", times.quantile_ns(0.9999)}};
}

json histogram_of(const histogram& times) {
  json buckets = json::array();
  for (const histogram::bucket& one : times.buckets())
    buckets.push_back({one.low_ns, one.high_ns, one.count});
  return {{"unit", "ns"},
          {"relative_error", histogram::relative_error},
          {"buckets", std::move(buckets)}};
}

json lag_of(const histogram& times) {
  if (times.samples() == 0) return nullptr;
  return {{"unit", "ns"},
          {"mean", times.mean_ns()},
          {"p99", times.quantile_ns(0.99)},
          {"max", times.max_ns()}};
}

json checks_of(const options& run, const outcome& measured) {
  const littles_law law = check_littles_law(run, measured);
  const lag_check lag = check_send_lag(run, measured);
  return {{"little",
           {{"value", law.value},
            {"expected", law.expected},
            {"relative_difference", law.relative_difference},
            {"verdict", name_of(law.result)}}},
          {"send_lag",
           {{"relative_to_latency", lag.relative_to_latency},
            {"busiest_thread_share", lag.busiest_thread_share},
            {"verdict", name_of(lag.result)}}},
          {"connections", {{"verdict", name_of(check_connections(run, measured))}}}};
}

}  // namespace

std::string to_json(const options& run, const outcome& measured) {
  const tally& total = measured.total;
  json result = {{"schema", "heddle-loadgen-1"},
                 {"target", run.target.to_string()},
                 {"protocol", run.protocol_name},
                 {"mode", run.mode_name},
                 {"seed", run.seed},
                 {"connections_requested", run.connections},
                 {"connections_established", total.connected},
                 {"threads", run.threads},
                 {"duration_s", measured.duration_s},
                 {"requests", total.requests},
                 {"responses", total.responses},
                 {"responses_in_time", total.responses_in_time},
                 {"unanswered", total.unanswered},
                 {"throughput_rps", throughput_rps(measured)},
                 {"bytes_received", total.bytes_received},
                 {"bytes_sent", total.bytes_sent},
                 {"errors", errors_of(total)},
                 {"latency", latency_of(run, total.latency)},
                 {"histogram", histogram_of(total.latency)},
                 {"send_lag", lag_of(total.send_lag)}};
  if (run.speaks == protocol::echo) result["payload_bytes"] = run.payload_bytes;
  if (run.speaks == protocol::pipelined) result["pipeline"] = run.pipeline;
  if (run.paces == mode::think) result["think_us"] = run.think_us;
  if (run.paces == mode::open) {
    result["rate_rps"] = run.rate_rps;
    result["offered_rps"] =
        measured.duration_s > 0 ? static_cast<double>(total.requests) / measured.duration_s : 0;
  }
  result["generator_cpu"] = {{"user_s", static_cast<double>(total.user_ns) * 1e-9},
                             {"system_s", static_cast<double>(total.system_ns) * 1e-9}};
  result["checks"] = checks_of(run, measured);
  result["ended_by"] = name_of_ending(measured.how);
  result["complete"] = measured.how == ending::planned;
  return result.dump();
}

bool succeeded(const outcome& measured) {
  return measured.how == ending::planned && measured.total.failed() == 0;
}

std::string complaint(const options& run, const outcome& measured) {
  const tally& total = measured.total;
  std::string text;
  for (std::size_t kind = 0; kind < failure_names.size(); ++kind) {
    if (total.errors[kind] == 0) continue;
    text += (text.empty() ? "errors: " : ", ") + std::string(failure_names[kind]) + " " +
            std::to_string(total.errors[kind]);
  }
  if (!total.problem.empty()) text += (text.empty() ? "" : "; first: ") + total.problem;
  const char* const why = measured.how == ending::planned ? "" : name_of_ending(measured.how);
  return run.target.to_string() + ": " + why + (*why != 0 && !text.empty() ? "; " : "") + text;
}

}  // namespace heddle::load
