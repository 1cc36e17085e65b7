#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "applications.hpp"
#include <heddle/runtime_base.hpp>

namespace heddle::servers {

/// What a server was asked to do.
struct command {
  const application* serve = nullptr;
  std::optional<parameter_values> parameters;  // of what is served
  std::string combination;
  std::string host = "127.0.0.1";
  std::uint16_t port = 3000;
  std::string stats_file;
  runtime_options options;
};

/// The command, or the exit code when there is nothing to do: 0 after --help, 2 after one line on
/// standard error that says what was wrong and what is allowed.
struct parsed {
  std::optional<command> run;
  int exit_code = 0;
};

parsed parse_command_line(int argc, char** argv, const application* fixed_application,
                          std::string_view fixed_combination);

}  // namespace heddle::servers
