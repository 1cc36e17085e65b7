#include "common/command_line.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace peers {
namespace {

constexpr unsigned most_workers = 1024;

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.find_last_of('/') + 1));
}

/// A line stays a line, whatever was typed.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

int refuse(const std::string& program, const std::string& why, bool takes_parameters) {
  std::fprintf(stderr, "%s: %s; usage: %s HOST PORT WORKERS%s\n", program.c_str(),
               printable(why).c_str(), program.c_str(), takes_parameters ? " [NAME=VALUE...]" : "");
  return 2;
}

}  // namespace

command_line parse_command_line(int argc, char** argv, std::span<const parameter> allowed) {
  command_line command;
  command.program = argc > 0 ? base_name(argv[0]) : "peer";
  std::string host;
  std::string port;
  std::string workers;
  std::vector<std::string> assignments;
  CLI::App app("A server to compare heddle's with.", command.program);
  app.add_option("HOST", host, "IPv4 or IPv6 address in digits")->required();
  app.add_option("PORT", port, "0 to 65535; 0: the system chooses, see standard output")
      ->required();
  app.add_option("WORKERS", workers, "threads, 1 to " + std::to_string(most_workers))->required();
  app.add_option("PARAMETERS", assignments, "NAME=VALUE...: how a workload works");
  try {
    app.parse(argc, argv);
    const auto port_number = static_cast<std::uint16_t>(whole_number("PORT", port, 0, 65535));
    command.workers = static_cast<unsigned>(whole_number("WORKERS", workers, 1, most_workers));
    const auto address = parse_address(host, port_number);
    if (!address) {
      throw std::invalid_argument("HOST is \"" + host +
                                  "\" but must be an address in digits such as 127.0.0.1 or ::1");
    }
    command.address = *address;
    for (const std::string& assignment : assignments) assign(allowed, assignment);
    return command;
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    std::exit(std::fflush(stdout) == 0 ? 0 : 1);
  } catch (const CLI::ParseError& error) {
    std::exit(refuse(command.program, error.what(), !allowed.empty()));
  } catch (const std::invalid_argument& error) {
    std::exit(refuse(command.program, error.what(), !allowed.empty()));
  }
}

}  // namespace peers
