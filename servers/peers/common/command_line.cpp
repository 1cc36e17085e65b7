#include "common/command_line.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include <CLI/CLI.hpp>

namespace peers {
namespace {

constexpr unsigned most_workers = 1024;

class usage_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.find_last_of('/') + 1));
}

/// A line stays a line, whatever was typed.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

unsigned whole_number(const std::string& name, const std::string& text, unsigned least,
                      unsigned most) {
  unsigned number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end || number < least || number > most) {
    throw usage_error(name + " is \"" + text + "\" but must be a whole number from " +
                      std::to_string(least) + " to " + std::to_string(most));
  }
  return number;
}

}  // namespace

command_line parse_command_line(int argc, char** argv) {
  command_line command;
  command.program = argc > 0 ? base_name(argv[0]) : "peer";
  std::string host;
  std::string port;
  std::string workers;
  CLI::App app("Answers every read with one fixed HTTP response.", command.program);
  app.add_option("HOST", host, "IPv4 or IPv6 address in digits")->required();
  app.add_option("PORT", port, "0 to 65535; 0: the system chooses, see standard output")
      ->required();
  app.add_option("WORKERS", workers, "threads, 1 to " + std::to_string(most_workers))->required();
  try {
    app.parse(argc, argv);
    const auto port_number = static_cast<std::uint16_t>(whole_number("PORT", port, 0, 65535));
    command.workers = whole_number("WORKERS", workers, 1, most_workers);
    const auto address = parse_address(host, port_number);
    if (!address) {
      throw usage_error("HOST is \"" + host +
                        "\" but must be an address in digits such as 127.0.0.1 or ::1");
    }
    command.address = *address;
    return command;
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    std::exit(std::fflush(stdout) == 0 ? 0 : 1);
  } catch (const std::runtime_error& error) {  // CLI::ParseError is one, too
    std::fprintf(stderr, "%s: %s; usage: %s HOST PORT WORKERS\n", command.program.c_str(),
                 printable(error.what()).c_str(), command.program.c_str());
    std::exit(2);
  }
}

}  // namespace peers
