#include "tally.hpp"

#include <algorithm>

namespace heddle::load {

void tally::add(const tally& other) {
  latency.add(other.latency);
  send_lag.add(other.send_lag);
  requests += other.requests;
  responses += other.responses;
  responses_in_time += other.responses_in_time;
  unanswered += other.unanswered;
  bytes_received += other.bytes_received;
  bytes_sent += other.bytes_sent;
  connected += other.connected;
  last_response_ns = std::max(last_response_ns, other.last_response_ns);
  for (std::size_t kind = 0; kind < errors.size(); ++kind) errors[kind] += other.errors[kind];
  if (problem.empty()) problem = other.problem;
  pauses += other.pauses;
  pauses_ns += other.pauses_ns;
  cut_off_ns += other.cut_off_ns;
  in_time_ns += other.in_time_ns;
  retired += other.retired;
  retired_after_ns += other.retired_after_ns;
  request_ns_in_system += other.request_ns_in_system;
  user_ns += other.user_ns;
  system_ns += other.system_ns;
  busiest_share = std::max(busiest_share, other.busiest_share);
}

}  // namespace heddle::load
