#pragma once

#include <string_view>

#include "options.hpp"
#include "run.hpp"

namespace heddle::load {

enum class verdict { pass, warn, fail };

std::string_view name_of(verdict one);

/// Little's law, which holds for any system: the mean number of requests in it is the throughput
/// times the mean time each spends there. A generator that loses requests, or time, breaks it.
struct littles_law {
  double value = 0;     ///< throughput x (latency + pause)
  double expected = 0;  ///< requests that the connections hold; open: time average, counted
  double relative_difference = 0;
  /// pass within 5 %; warn when it is more, but within 5 % once the requests and pauses that the
  /// ends of the run cut off are counted by the time they had within it; else fail.
  verdict result = verdict::fail;
};

/// Whether requests were sent when they should have been. Closed: how long the response had been
/// waiting in the thread's batch of events, at least, when the next request left; think: after the
/// pause; open: after the request was due, whether the generator was late or every connection busy.
struct lag_check {
  double relative_to_latency = 0;   ///< mean lag / mean latency
  double busiest_thread_share = 0;  ///< of its time, that the busiest thread ran or was ready to
  /// pass when the lag is at most a tenth of the latency or, where a timer sends, at most 100 us,
  /// which is what a wake-up takes; else fail when a thread was busy for nine tenths of the time
  /// (the generator cannot keep up), warn when not.
  verdict result = verdict::fail;
};

/// The number of requests/s that were received before the end of the measured time.
double throughput_rps(const outcome& measured);

littles_law check_littles_law(const options& run, const outcome& measured);
lag_check check_send_lag(const options& run, const outcome& measured);

/// pass when every connection that was asked for was open, all at once.
verdict check_connections(const options& run, const outcome& measured);

}  // namespace heddle::load
