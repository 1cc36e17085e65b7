#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "histogram.hpp"

namespace heddle::load {

/// How a request failed. A response that is wrong is one that came: it counts as a response too.
enum class failure : unsigned {
  connect,  ///< no connection
  read,     ///< receiving failed, as by a reset
  write,    ///< sending failed
  timeout,  ///< no response in time
  status,   ///< a response with a status other than 200
  length,   ///< a response longer or shorter than expected
  content,  ///< not what was sent, or not HTTP
  closed,   ///< the server ended the connection instead of responding
};

inline constexpr std::array<std::string_view, 8> failure_names = {
    "connect", "read", "write", "timeout", "status", "length", "content", "closed"};

/// What one thread measured; that of a run is the sum.
struct tally {
  histogram latency;   ///< from send, in open mode from the time the request was due
  histogram send_lag;  ///< how late requests were sent, see result.schema.json
  std::uint64_t requests = 0;
  std::uint64_t responses = 0;
  std::uint64_t responses_in_time = 0;  ///< before the end of the measured time
  std::uint64_t unanswered = 0;         ///< in `latency` with their age at the end, a lower bound
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t connected = 0;  ///< connections that were open, all at once, before the start
  std::uint64_t last_response_ns = 0;
  std::array<std::uint64_t, failure_names.size()> errors = {};
  std::string problem;  ///< the first of them that the system has words for

  std::uint64_t pauses = 0;     ///< think: how many
  std::uint64_t pauses_ns = 0;  ///< and how long in all
  // What of the measured time is in no latency and no pause that was completed within it: the parts
  // of those that its ends cut off, reconnecting, and places for a request that ran out of requests
  // to send.
  std::uint64_t cut_off_ns = 0;
  std::uint64_t in_time_ns = 0;  ///< sum of the latencies of responses_in_time
  std::uint64_t retired = 0;     ///< places without a request up to the end
  double retired_after_ns = 0;   ///< sum, from the start on

  double request_ns_in_system = 0;  ///< open: integral over time of requests due but unanswered
  std::uint64_t user_ns = 0;        ///< processor time
  std::uint64_t system_ns = 0;
  double busiest_share = 0;  ///< of its time, what the busiest thread ran or waited to run

  std::uint64_t& operator[](failure kind) { return errors[static_cast<unsigned>(kind)]; }
  std::uint64_t operator[](failure kind) const { return errors[static_cast<unsigned>(kind)]; }

  std::uint64_t failed() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t one : errors) sum += one;
    return sum;
  }

  void add(const tally& other);
};

}  // namespace heddle::load
