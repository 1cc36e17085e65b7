// One run of one workload over the queue that QUEUE_UNDER_TEST names: see --help.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <type_traits>

#include "experiment.hpp"

// The header of the tests that defines the tag `queue_under_test` and the string `queue_name`.
#include QUEUE_UNDER_TEST

namespace heddle::bench {
namespace {

using tag = queue_under_test;
constexpr auto rules = rules_of(tag::traits, counter_only<tag>);
/// A queue with atomics of its own cannot be counted.
using counting_platform = std::conditional_t<tag::traits.native_only, native, counting>;

run_result run_of(const options& asked) {
  const cycle_clock clock;
  const thinker think(clock, asked.think_ns);
  run_result result = asked.count ? experiment<tag, counting_platform>(asked, clock, think).run()
                                  : experiment<tag, native>(asked, clock, think).run();
  result.ns_per_cycle = clock.ns_per_cycle();
  result.timer_cost_ns = clock.ns(clock.timer_cost_cycles());
  result.think_measured_ns = think.measured_ns();
  result.can_count = !tag::traits.native_only;
  if (asked.count && !counter_only<tag>)
    result.bytes_per_element = bytes_per_element<tag>(result.capacity_slots);
  return result;
}

int run_program(int argc, char** argv) {
  const parsed command = parse_command_line(argc, argv, queue_name, rules);
  if (!command.run) return command.exit_status;
  try {
    const run_result result = run_of(*command.run);
    std::printf("%s\n", to_json(queue_name, *command.run, result).c_str());
    return 0;
  } catch (const std::invalid_argument& problem) {
    std::fprintf(stderr, "queue-bench-%s: %s\n", queue_name, problem.what());
    return 2;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "queue-bench-%s: %s\n", queue_name, problem.what());
    return 1;
  }
}

}  // namespace
}  // namespace heddle::bench

int main(int argc, char** argv) { return heddle::bench::run_program(argc, argv); }
