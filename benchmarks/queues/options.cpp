#include "options.hpp"

#include <cstdio>
#include <stdexcept>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace heddle::bench {
namespace {

constexpr unsigned longest_duration_ms = 60'000;
constexpr std::uint64_t most_operations = 1'000'000'000'000;

std::string thread_counts(const workload_rule& rule) {
  if (rule.least_threads == rule.most_threads) return std::to_string(rule.least_threads);
  return std::to_string(rule.least_threads) + " to " + std::to_string(rule.most_threads) +
         (rule.multiple_of > 1 ? ", a multiple of " + std::to_string(rule.multiple_of) : "");
}

std::string description(std::span<const workload_rule> rules) {
  std::string text = "Workloads, and the threads they take with this queue:\n";
  for (const workload_rule& rule : rules) {
    text += "  " + std::string(rule.name) + ": " + std::string(rule.meaning) + "; " +
            (rule.applies() ? thread_counts(rule) : "not allowed by the queue's traits") + "\n";
  }
  return text;
}

/// Errors: std::invalid_argument that names what is allowed.
const workload_rule& rule_named(const std::string& name, std::string_view queue,
                                std::span<const workload_rule> rules) {
  std::string allowed;
  const workload_rule* found = nullptr;
  for (const workload_rule& rule : rules) {
    if (rule.name == name) found = &rule;
    if (rule.applies()) allowed += (allowed.empty() ? "" : ", ") + std::string(rule.name);
  }
  if (found != nullptr && found->applies()) return *found;
  throw std::invalid_argument("workload '" + name + "' " +
                              (found ? "is not allowed by the traits of " + std::string(queue)
                                     : std::string("is unknown")) +
                              "; allowed: " + allowed);
}

/// Every workload; those that the traits do not allow take at most 0 threads.
void print_list(std::string_view queue, std::span<const workload_rule> rules) {
  nlohmann::ordered_json workloads = nlohmann::ordered_json::array();
  for (const workload_rule& rule : rules) {
    workloads.push_back({{"name", rule.name},
                         {"meaning", rule.meaning},
                         {"least_threads", rule.least_threads},
                         {"most_threads", rule.most_threads},
                         {"multiple_of", rule.multiple_of}});
  }
  const nlohmann::ordered_json list = {
      {"schema", "heddle-queue-workloads-1"}, {"queue", queue}, {"workloads", workloads}};
  std::printf("%s\n", list.dump().c_str());
}

}  // namespace

parsed parse_command_line(int argc, char** argv, std::string_view queue,
                          std::span<const workload_rule> rules) {
  const std::string program =
      std::string_view(argv[0]).substr(std::string_view(argv[0]).rfind('/') + 1).data();
  options run;
  run.workload_name = "pairwise";
  bool list = false;
  bool no_pin = false;

  CLI::App app("One run of one workload over the queue " + std::string(queue) +
               "; prints one JSON object.");
  app.name(program);
  app.footer(description(rules));
  app.add_flag("--list", list, "print the workloads of this queue as JSON and end");
  app.add_option("--workload", run.workload_name, "what the threads do")->capture_default_str();
  app.add_option("--threads", run.threads, "all of them, in every role")
      ->check(CLI::Range(1u, most_threads))
      ->capture_default_str();
  app.add_option("--think-ns", run.think_ns, "time between two operations of a thread")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  const auto* duration =
      app.add_option("--duration-ms", run.duration_ms, "measured time, after a warm-up of a tenth")
          ->check(CLI::Range(1u, longest_duration_ms))
          ->capture_default_str();
  auto* const operations =
      app.add_option("--operations", run.operations, "of all threads, in place of a duration")
          ->check(CLI::Range(std::uint64_t{1}, most_operations));
  app.add_option("--steal-percent", run.steal_percent, "of the owner's pushes; owner-thieves")
      ->check(CLI::Range(0.1, 10.0))
      ->capture_default_str();
  app.add_option("--capacity", run.capacity_slots, "slots of a bounded queue; 0: its default")
      ->check(CLI::Range(std::size_t{0}, std::size_t{1} << 31))
      ->capture_default_str();
  app.add_option("--sample-every", run.sample_every, "time one operation in so many; 0: none")
      ->check(CLI::Range(0u, 1'000'000u))
      ->capture_default_str();
  app.add_option("--seed", run.seed, "of what is random")->capture_default_str();
  app.add_flag("--no-pin", no_pin, "let the system place the threads");
  app.add_flag("--count", run.count,
               "no times, but failed compare-exchanges, contended locks and bytes per element");

  try {
    app.parse(argc, argv);
    if (list) {
      print_list(queue, rules);
      return {};
    }
    if (duration->count() != 0 && operations->count() != 0)
      throw std::invalid_argument("--duration-ms and --operations exclude each other");
    const workload_rule& rule = rule_named(run.workload_name, queue, rules);
    if (!rule.allows(run.threads)) {
      throw std::invalid_argument("--threads " + std::to_string(run.threads) +
                                  " is not allowed for " + run.workload_name + " over " +
                                  std::string(queue) + ": " + thread_counts(rule));
    }
    // A range check lets what is no number pass.
    if (!(run.think_ns >= 0)) throw std::invalid_argument("--think-ns: a number from 0 to 1000000");
    if (!(run.steal_percent >= 0.1))
      throw std::invalid_argument("--steal-percent: a number from 0.1 to 10");
    run.what = rule.what;
    run.pin = !no_pin;
    return {std::move(run), 0};
  } catch (const CLI::CallForHelp&) {
    std::printf("%s", app.help().c_str());
    return {};
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "%s: %s (--help shows what is allowed)\n", program.c_str(), error.what());
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
  }
  return {std::nullopt, 2};
}

}  // namespace heddle::bench
