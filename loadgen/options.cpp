#include "options.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string_view>

#include <CLI/CLI.hpp>
#include <sys/resource.h>

namespace heddle::load {
namespace {

constexpr std::uint64_t most_requests = 1'000'000'000'000;
constexpr std::size_t longest_path = 4096;
constexpr rlim_t other_descriptors = 16;  // besides one for each thread

const std::map<std::string, protocol> protocols = {{"http", protocol::http},
                                                   {"http-close", protocol::http_close},
                                                   {"pipelined", protocol::pipelined},
                                                   {"echo", protocol::echo}};
const std::map<std::string, mode> modes = {
    {"closed", mode::closed}, {"think", mode::think}, {"open", mode::open}};
const std::map<std::string, arrival_pattern> patterns = {{"poisson", arrival_pattern::poisson},
                                                         {"constant", arrival_pattern::constant}};

template <class Value>
Value named(const std::string& option, const std::string& name,
            const std::map<std::string, Value>& table) {
  if (const auto found = table.find(name); found != table.end()) return found->second;
  std::string allowed;
  for (const auto& [other, value] : table) allowed += (allowed.empty() ? "" : ", ") + other;
  throw std::invalid_argument(option + " '" + name + "' is unknown; allowed: " + allowed);
}

/// A number of a range given in decimal: what a Range check of CLI11 lets pass is no number (nan).
CLI::Validator number(double least, double most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    double value = NAN;
    if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return "";
    char words[160];
    std::snprintf(words, sizeof words, "'%.80s' is not a number from %g to %g", text.c_str(), least,
                  most);
    return words;
  };
  return {check, ""};
}

/// A whole number of a range: digits and nothing else, so no sign, no fraction, no octal.
CLI::Validator whole(std::uint64_t least, std::uint64_t most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    const bool digits =
        !text.empty() && text.size() <= 19 &&
        std::all_of(text.begin(), text.end(), [](char one) { return one >= '0' && one <= '9'; }) &&
        (text.size() == 1 || text.front() != '0');
    if (digits) {
      const std::uint64_t value = std::stoull(text);
      if (value >= least && value <= most) return "";
    }
    return "'" + text.substr(0, 80) + "' is not a whole number from " + std::to_string(least) +
           " to " + std::to_string(most);
  };
  return {check, ""};
}

void require(bool right, const std::string& otherwise) {
  if (!right) throw std::invalid_argument(otherwise);
}

/// What must hold between the options. Errors: std::invalid_argument.
void check_together(const CLI::App& app, const options& run) {
  const auto given = [&app](const char* name) { return app.count(name) != 0; };
  require(given("--duration-s") != given("--requests"),
          "give either --duration-s or --requests: when does the run end?");
  require(run.connections >= run.threads,
          "--threads " + std::to_string(run.threads) + " with --connections " +
              std::to_string(run.connections) +
              ": each thread needs at least one connection, so at most " +
              std::to_string(run.connections) + " threads are allowed");
  require((run.paces == mode::think) == given("--think-us"),
          "--mode think and --think-us go together: give both or neither");
  require((run.paces == mode::open) == given("--rate"),
          "--mode open and --rate go together: give both or neither");
  require(run.paces == mode::open || !given("--arrivals"), "--arrivals is of --mode open only");
  require((run.speaks == protocol::pipelined) == given("--pipeline"),
          "--protocol pipelined and --pipeline go together: give both or neither");
  require(run.speaks != protocol::pipelined || run.paces == mode::closed,
          "--protocol pipelined is allowed in --mode closed only");
  require(run.speaks == protocol::echo || !given("--payload-bytes"),
          "--payload-bytes is of --protocol echo only");
  require(run.speaks != protocol::echo || !(given("--path") || given("--expect-bytes")),
          "--path and --expect-bytes are not of --protocol echo, which gets back what it sends");
  require(!run.path.empty() && run.path.front() == '/' && run.path.size() <= longest_path &&
              std::none_of(run.path.begin(), run.path.end(),
                           [](unsigned char one) { return one <= ' ' || one == 0x7f; }),
          "--path starts with '/', has no space and at most " + std::to_string(longest_path) +
              " bytes");
}

/// Lets the process open a descriptor for each connection. Errors: std::invalid_argument.
void raise_descriptor_limit(unsigned connections, unsigned threads) {
  rlimit limit{};
  const rlim_t wanted = connections + threads + other_descriptors;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (limit.rlim_cur < wanted || ::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    throw std::invalid_argument("--connections " + std::to_string(connections) +
                                " is more than the limit of open files allows (" +
                                std::to_string(limit.rlim_max) + ", see ulimit -n)");
  }
}

/// A line stays a line, whatever was typed.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char one) { return one < 0x20 || one == 0x7f; }, '?');
  return text;
}

}  // namespace

parsed parse_command_line(int argc, const char* const* argv) {
  const std::string program = "loadgen";
  options run;
  std::string host = "127.0.0.1";
  std::string arrivals = "poisson";
  unsigned port = 0;
  std::uint64_t expected_bytes = 0;

  CLI::App app("Load for one server: many connections, few threads. Prints one JSON object.");
  app.name(program);
  app.footer(
      "Exit status: 0; 1 when the run was cut short or any error occurred (what was measured is "
      "printed all the same); 2 for a wrong command line.");
  app.add_option("--host", host, "numeric IPv4 or IPv6 address, or localhost")
      ->capture_default_str();
  app.add_option("--port", port, "1 to 65535")->required()->check(whole(1, 65535));
  app.add_option("--protocol", run.protocol_name, "http, http-close, pipelined or echo")
      ->capture_default_str();
  app.add_option("--path", run.path, "of the request, HTTP only")->capture_default_str();
  app.add_option("--payload-bytes", run.payload_bytes, "of a message, echo only")
      ->check(whole(1, largest_payload_bytes))
      ->capture_default_str();
  app.add_option("--pipeline", run.pipeline, "requests outstanding on a connection, pipelined only")
      ->check(whole(1, deepest_pipeline));
  app.add_option("--connections", run.connections, "of all threads together")
      ->check(whole(1, most_connections))
      ->capture_default_str();
  app.add_option("--threads", run.threads, "among which the connections are divided")
      ->check(whole(1, most_threads))
      ->capture_default_str();
  app.add_option("--mode", run.mode_name,
                 "closed: next request at the response; think: some time after it; open: by a "
                 "schedule, latency counts from the scheduled time")
      ->capture_default_str();
  app.add_option("--think-us", run.think_us, "from response to next request, think only")
      ->check(number(0, 60e6));
  app.add_option("--rate", run.rate_rps, "requests/s of all threads, open only")
      ->check(number(0.001, 1e7));
  app.add_option("--arrivals", arrivals, "poisson or constant, open only")->capture_default_str();
  app.add_option("--duration-s", run.duration_s, "how long requests are sent")
      ->check(number(0.001, 86400));
  app.add_option("--requests", run.requests, "of all connections, instead of a duration")
      ->check(whole(1, most_requests));
  app.add_option("--timeout-s", run.timeout_s, "a request in flight for longer has failed")
      ->check(number(0.001, 3600))
      ->capture_default_str();
  app.add_option("--drain-s", run.drain_s, "how long responses are awaited after the end")
      ->check(number(0, 3600))
      ->capture_default_str();
  app.add_option("--seed", run.seed, "of what is random")
      ->check(whole(0, 999'999'999'999'999'999))
      ->capture_default_str();
  const auto* const expect =
      app.add_option("--expect-bytes", expected_bytes,
                     "body of each response; without it, that of a thread's first one")
          ->check(whole(0, std::uint64_t{1} << 40));
  app.add_option("--output", run.output, "file for the JSON object, else standard output");

  try {
    app.parse(argc, argv);
    run.speaks = named("--protocol", run.protocol_name, protocols);
    run.paces = named("--mode", run.mode_name, modes);
    run.arrivals = named("--arrivals", arrivals, patterns);
    run.target = endpoint(host, static_cast<std::uint16_t>(port));
    if (expect->count() != 0) run.expected_bytes = expected_bytes;
    check_together(app, run);
    raise_descriptor_limit(run.connections, run.threads);
    return {std::move(run), 0};
  } catch (const CLI::CallForHelp&) {
    std::printf("%s", app.help().c_str());
    return {};
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "%s: %s (--help shows what is allowed)\n", program.c_str(),
                 one_line(error.what()).c_str());
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), one_line(error.what()).c_str());
  }
  return {std::nullopt, 2};
}

}  // namespace heddle::load
