#include "server.hpp"

#include <atomic>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>
#include <signal.h>

#include "command_line.hpp"
#include <heddle/heddle.hpp>

namespace heddle::servers {
namespace {

nlohmann::ordered_json stats_of(const command& command, runtime_base& runtime) {
  nlohmann::ordered_json json;
  json["application"] = command.serve->name;
  const parameter_values& values = *command.parameters;
  json["parameters"] = nlohmann::ordered_json::object();
  for (const parameter& one : values.parameters()) {
    if (one.words.empty())
      json["parameters"][one.name] = values.number(one.name);
    else
      json["parameters"][one.name] = values.word(one.name);
  }
  json["runtime"] = runtime.name();
  json["workers"] = runtime.workers();
  json["live_fibers"] = runtime.live_fibers();
  json["armed_timers"] = runtime.armed_timers();
  const counter_values counts = runtime.stats();
  for (const counter_field& field : counter_fields)
    json["counters"][field.name] = counts.*field.of_sum;
  for (const tuning_field& field : tuning_fields)
    json["tuning"][field.name] = runtime.options().tuning.*field.value;
  return json;
}

/// The signals that a server answers, blocked in every thread and waited for in one.
class signal_thread {
 public:
  signal_thread(const command& command, runtime_base& runtime)
      : command_(command), runtime_(runtime) {
    sigemptyset(&signals_);
    for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::thread([this] { loop(); });
  }

  ~signal_thread() {
    ending_.store(true);
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }

 private:
  void loop() {
    for (;;) {
      int signal = 0;
      sigwait(&signals_, &signal);
      if (ending_.load()) return;
      if (signal == SIGUSR1) {
        std::printf("%s\n", stats_of(command_, runtime_).dump().c_str());
        std::fflush(stdout);
      } else {
        runtime_.request_stop();
      }
    }
  }

  const command& command_;
  runtime_base& runtime_;
  sigset_t signals_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

/// Stops a service, however serving ends.
class stop_at_end {
 public:
  explicit stop_at_end(service& service) noexcept : service_(service) {}
  ~stop_at_end() { service_.stop(); }
  stop_at_end(const stop_at_end&) = delete;
  stop_at_end& operator=(const stop_at_end&) = delete;

 private:
  service& service_;
};

/// Accepts until the runtime stops. Errors: std::system_error.
void accept_all(const command& command, runtime_base& runtime, service& service) {
  result<listener> bound = listener::bind({command.host, command.port});
  if (!bound) {
    throw std::system_error(bound.error(),
                            "cannot listen on " + endpoint(command.host, command.port).to_string());
  }
  const stop_at_end stop(service);
  service.start();
  std::printf("listening on %s with %u workers, %s %.*s\n",
              bound->local_endpoint().value().to_string().c_str(), runtime.workers(),
              std::string(command.serve->name).c_str(), static_cast<int>(runtime.name().size()),
              runtime.name().data());
  std::fflush(stdout);

  this_fiber::set_name("acceptor");
  for (;;) {
    result<socket> peer = bound->accept();
    if (peer) {
      spawn([&service](socket served) { service.serve(std::move(served)); }, std::move(*peer));
    } else if (peer.error() == std::errc::operation_canceled) {
      return;
    } else {
      throw std::system_error(peer.error(), "accept");
    }
  }
}

/// The first exception that left a connection's fiber, such as for want of a stack. A server that
/// cannot do what it is asked ends, or it would be measured doing something else.
class failure {
 public:
  void note(std::exception_ptr error) noexcept {
    std::lock_guard guard(lock_);
    if (!error_) error_ = std::move(error);
  }

  /// After the run.
  void rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex lock_;
  std::exception_ptr error_;  // guarded by lock_
};

void write_stats(const command& command, runtime_base& runtime) {
  std::ofstream out(command.stats_file);
  out << stats_of(command, runtime).dump(2) << "\n";
  if (!out.flush())
    throw std::runtime_error("cannot write the counters to '" + command.stats_file + "'");
}

}  // namespace

int run_server(int argc, char** argv, const application* fixed_application) {
  const std::string_view fixed_combination =
      fixed_application != nullptr ? combinations().front().name : std::string_view();
  const parsed parsed = parse_command_line(argc, argv, fixed_application, fixed_combination);
  if (!parsed.run) return parsed.exit_code;
  const command& command = *parsed.run;
  try {
    failure failed;
    std::unique_ptr<runtime_base> runtime;
    runtime_options options = command.options;
    options.on_unhandled_exception = [&](std::exception_ptr error) {
      failed.note(std::move(error));
      runtime->request_stop();
    };
    runtime = make_runtime(command.combination, std::move(options));
    const auto service = command.serve->make(*command.parameters, runtime->workers());
    signal_thread signals(command, *runtime);
    runtime->run([&] { accept_all(command, *runtime, *service); });
    failed.rethrow();
    if (!command.stats_file.empty()) write_stats(command, *runtime);
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}

}  // namespace heddle::servers
