#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>

#include "options.hpp"
#include "result.hpp"
#include "run.hpp"

namespace {

using file = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// Says what the system refused; the exit status for it.
int refused(const char* what) {
  std::fprintf(stderr, "loadgen: %s: %s\n", what, std::strerror(errno));
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace heddle::load;
  const parsed command = parse_command_line(argc, argv);
  if (!command.run) return command.exit_status;
  const options& run = *command.run;
  const char* const path = run.output.empty() ? "standard output" : run.output.c_str();
  file output(run.output.empty() ? stdout : std::fopen(path, "we"), std::fclose);
  if (!output) {
    refused(path);
    return 2;
  }
  try {
    const outcome measured = run_load(run);
    const bool written = std::fprintf(output.get(), "%s\n", to_json(run, measured).c_str()) >= 0;
    if (std::fclose(output.release()) != 0 || !written) return refused(path);
    if (succeeded(measured)) return 0;
    std::fprintf(stderr, "loadgen: %s\n", complaint(run, measured).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "loadgen: %s\n", error.what());
  }
  return 1;
}
