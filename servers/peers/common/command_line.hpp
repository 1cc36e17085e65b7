#pragma once

#include <span>
#include <string>

#include "common/listener.hpp"
#include "common/parameters.hpp"

namespace peers {

/// What `BINARY HOST PORT WORKERS [NAME=VALUE...]` asked for.
struct command_line {
  std::string program;     // the binary's name without its folder
  socket_address address;  // port 0: the system chooses one
  unsigned workers = 1;
};

/// Stores the values of `allowed` that are given. Ends the process on bad input, with one line on
/// standard error that says what was wrong and what is allowed (status 2), and on --help (status
/// 0). Call it before anything else.
command_line parse_command_line(int argc, char** argv, std::span<const parameter> allowed = {});

}  // namespace peers
