#include "command_line.hpp"

#include <stdexcept>
#include <vector>

#include <CLI/CLI.hpp>

#include <heddle/base/nearest.hpp>
#include <heddle/make_runtime.hpp>
#include <heddle/net/endpoint.hpp>

namespace heddle::servers {
namespace {

constexpr std::uint32_t usual_sqpoll_idle_ms = 1000;  // the kernel's own default

void check_combination(const std::string& name) {
  std::vector<std::string_view> names;
  for (const combination& known : combinations()) {
    if (known.name == name || is_automatic_name_of(name, known)) return;
    names.push_back(known.name);
  }
  const std::string nearest = nearest_names(name, names);
  throw std::invalid_argument("combination '" + name + "' is unknown" +
                              (nearest.empty() ? "" : "; nearest: " + nearest) +
                              " (--list shows all)");
}

std::string tuning_help() {
  std::string text = "Tuning values (--tuning NAME=VALUE):\n";
  const tuning defaults;
  for (const tuning_field& field : tuning_fields) {
    text += "  " + std::string(field.name) + "=" + std::to_string(defaults.*field.value) + "  " +
            std::string(field.meaning) + "\n";
  }
  return text;
}

/// The parameters of the applications of a program.
std::string parameter_help(const application* fixed_application) {
  std::string text;
  for (const application* known : applications()) {
    if (fixed_application != nullptr && fixed_application != known) continue;
    const parameter_values standard(known->name, known->parameters);
    for (const parameter& one : known->parameters) {
      text += "  " + std::string(known->name) + " " + std::string(one.name) + "=" +
              standard.text(one.name) + "  " + std::string(one.meaning) + "; " +
              allowed_values(one) + "\n";
    }
  }
  return text.empty() ? text : "Parameters (NAME=VALUE after WORKERS):\n" + text + "\n";
}

std::string names_of_applications() {
  std::string text;
  for (const application* known : applications())
    text.append(text.empty() ? "" : ", ").append(known->name);
  return text;
}

}  // namespace

parsed parse_command_line(int argc, char** argv, const application* fixed_application,
                          std::string_view fixed_combination) {
  const std::string program =
      std::string_view(argv[0]).substr(std::string_view(argv[0]).rfind('/') + 1).data();
  CLI::App app("A heddle server: " + (fixed_application ? std::string(fixed_application->name)
                                                        : "every application and combination"));
  app.name(program);
  app.footer(parameter_help(fixed_application) + tuning_help());

  std::string application_name;
  std::string combination_name(fixed_combination.empty() ? "auto-work-stealing-bounded-spmc"
                                                         : fixed_combination);
  std::string host = "127.0.0.1";
  std::string port = "3000";
  std::string workers;
  std::string stack = std::to_string(fiber_pool::default_stack_bytes);
  std::string capacity = "0";
  std::string drain = "5000";
  std::vector<std::string> parameters;
  std::vector<std::string> assignments;
  command wanted;
  bool list = false;
  bool sqpoll = false;

  if (fixed_application == nullptr)
    app.add_option("APPLICATION", application_name, "what to serve: " + names_of_applications());
  app.add_option("HOST", host, "numeric address to listen on")->capture_default_str();
  app.add_option("PORT", port, "0: the system chooses one")->capture_default_str();
  app.add_option("WORKERS", workers,
                 "threads; default: the processors of this process, quota included");
  app.add_option("PARAMETERS", parameters, "NAME=VALUE, of what is served");
  if (fixed_combination.empty()) {
    app.add_option("--runtime", combination_name,
                   "POLLER-SCHEDULER-QUEUE; poller auto: best to be had")
        ->capture_default_str();
    app.add_flag("--list", list, "print the combinations and end");
  }
  app.add_option("--tuning", assignments, "NAME=VALUE, may be repeated")->allow_extra_args(false);
  app.add_flag("--sqpoll", sqpoll,
               "io_uring with a kernel thread that takes submissions: sqpoll_idle_ms=" +
                   std::to_string(usual_sqpoll_idle_ms) + ", if no --tuning sets it");
  app.add_option("--stats", wanted.stats_file, "write the counters as JSON to this file at exit");
  app.add_option("--stack-bytes", stack, "address space of each fiber")->capture_default_str();
  app.add_option("--capacity", capacity, "slots of a bounded run queue; 0: its default")
      ->capture_default_str();
  app.add_option("--drain-ms", drain, "after SIGTERM, how long to wait for connections, ms")
      ->capture_default_str();

  try {
    app.parse(argc, argv);
    if (list) {
      for (const combination& known : combinations())
        std::printf("%.*s\n", static_cast<int>(known.name.size()), known.name.data());
      return {};
    }
    wanted.serve = fixed_application;
    if (fixed_application == nullptr) {
      if (application_name.empty()) throw std::invalid_argument("an APPLICATION must be named");
      wanted.serve = &application_named(application_name);
    }
    if (fixed_combination.empty()) check_combination(combination_name);
    wanted.combination = combination_name;
    wanted.parameters.emplace(wanted.serve->name, wanted.serve->parameters);
    endpoint(host, 0);  // refuses what is no address
    wanted.host = host;
    wanted.port = static_cast<std::uint16_t>(number_in("port", port, 0, 65535));
    if (!workers.empty())
      wanted.options.workers = static_cast<unsigned>(number_in("workers", workers, 1, 1024));
    for (const std::string& parameter : parameters) wanted.parameters->set(parameter);
    wanted.options.stack_bytes = number_in("--stack-bytes", stack, fiber_pool::smallest_stack_bytes,
                                           fiber_pool::largest_stack_bytes);
    wanted.options.queue_capacity_slots =
        number_in("--capacity", capacity, 0, std::uint64_t{1} << 31);
    wanted.options.drain_limit =
        std::chrono::milliseconds(number_in("--drain-ms", drain, 0, 3'600'000));
    if (sqpoll && combination_name.starts_with("epoll-")) {
      throw std::invalid_argument("--sqpoll needs a combination with io_uring, not " +
                                  combination_name);
    }
    if (sqpoll) wanted.options.tuning.sqpoll_idle_ms = usual_sqpoll_idle_ms;
    for (const std::string& assignment : assignments) wanted.options.tuning.set(assignment);
    return {std::move(wanted), 0};
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

}  // namespace heddle::servers
