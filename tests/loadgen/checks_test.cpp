#include "checks.hpp"

#include <gtest/gtest.h>

namespace heddle::load {
namespace {

constexpr std::uint64_t ms = 1'000'000;

/// A run of one second with `responses` of `latency_ns` each, as far as the checks look.
outcome run_of(std::uint64_t responses, std::uint64_t latency_ns, std::uint64_t lag_ns = 0) {
  outcome measured;
  measured.how = ending::planned;
  measured.duration_s = 1;
  for (std::uint64_t count = 0; count < responses; ++count) {
    measured.total.latency.add(latency_ns);
    measured.total.send_lag.add(lag_ns);
  }
  measured.total.responses = measured.total.responses_in_time = responses;
  measured.total.in_time_ns = responses * latency_ns;
  return measured;
}

options with_connections(unsigned connections, mode paces = mode::closed) {
  options run;
  run.connections = connections;
  run.paces = paces;
  return run;
}

TEST(littles_law, holds_when_every_connection_is_always_busy) {
  const littles_law law = check_littles_law(with_connections(10), run_of(1000, 10 * ms));
  EXPECT_NEAR(law.value, 10, 0.01);
  EXPECT_EQ(law.expected, 10);
  EXPECT_EQ(law.result, verdict::pass);
}

TEST(littles_law, is_broken_by_requests_that_got_lost) {
  const littles_law law = check_littles_law(with_connections(10), run_of(900, 10 * ms));
  EXPECT_NEAR(law.relative_difference, 0.1, 0.01);
  EXPECT_EQ(law.result, verdict::fail);
}

TEST(littles_law, warns_where_the_ends_of_a_short_run_explain_the_difference) {
  outcome measured = run_of(45, 200 * ms);
  EXPECT_EQ(check_littles_law(with_connections(10), measured).result, verdict::fail);
  measured.total.cut_off_ns = 10 * 100 * ms;
  EXPECT_EQ(check_littles_law(with_connections(10), measured).result, verdict::warn);
}

TEST(littles_law, warns_where_connections_had_nothing_left_to_send) {
  outcome measured = run_of(40, 200 * ms);  // two of ten connections did nothing for a second
  EXPECT_EQ(check_littles_law(with_connections(10), measured).result, verdict::fail);
  measured.total.retired = 4;
  measured.total.retired_after_ns = 2e9;
  EXPECT_EQ(check_littles_law(with_connections(10), measured).result, verdict::warn);
}

TEST(littles_law, counts_pauses_and_pipelines) {
  options run = with_connections(10, mode::think);
  outcome measured = run_of(500, 10 * ms);
  EXPECT_EQ(check_littles_law(run, measured).result, verdict::fail);
  measured.total.pauses = 490;
  measured.total.pauses_ns = 4900 * ms;
  EXPECT_EQ(check_littles_law(run, measured).result, verdict::pass);
  run = with_connections(10);
  run.pipeline = 4;
  EXPECT_EQ(check_littles_law(run, run_of(4000, 10 * ms)).result, verdict::pass);
}

TEST(littles_law, of_open_mode_compares_with_the_counted_average) {
  const options run = with_connections(64, mode::open);
  outcome measured = run_of(1000, 10 * ms);
  measured.total.request_ns_in_system = 10e9;
  EXPECT_EQ(check_littles_law(run, measured).result, verdict::pass);
  measured.total.request_ns_in_system = 12e9;
  EXPECT_EQ(check_littles_law(run, measured).result, verdict::fail);
}

TEST(littles_law, fails_without_responses) {
  EXPECT_EQ(check_littles_law(with_connections(10), outcome()).result, verdict::fail);
}

TEST(send_lag, passes_up_to_a_tenth_of_the_latency) {
  const options run = with_connections(10);
  EXPECT_EQ(check_send_lag(run, run_of(100, 10 * ms, ms)).result, verdict::pass);
  EXPECT_EQ(check_send_lag(run, run_of(100, 10 * ms, 2 * ms)).result, verdict::warn);
}

TEST(send_lag, fails_when_the_generator_has_no_time_left) {
  outcome measured = run_of(100, 10 * ms, 2 * ms);
  measured.total.busiest_share = 0.95;
  EXPECT_EQ(check_send_lag(with_connections(10), measured).result, verdict::fail);
}

TEST(send_lag, allows_a_timer_its_wake_up) {
  const outcome measured = run_of(100, 100'000, 90'000);
  EXPECT_EQ(check_send_lag(with_connections(10, mode::think), measured).result, verdict::pass);
  EXPECT_EQ(check_send_lag(with_connections(10), measured).result, verdict::warn);
}

TEST(connections, are_all_or_it_fails) {
  outcome measured;
  measured.total.connected = 14;
  EXPECT_EQ(check_connections(with_connections(15), measured), verdict::fail);
  measured.total.connected = 15;
  EXPECT_EQ(check_connections(with_connections(15), measured), verdict::pass);
}

}  // namespace
}  // namespace heddle::load
