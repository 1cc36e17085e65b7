#pragma once

#include <string_view>

#include "applications.hpp"

namespace heddle::servers {

/// Runs a server program and returns its exit code: 0 after SIGTERM or SIGINT, 1 when it cannot
/// serve, 2 for a wrong command line.
///
/// `fixed_application` and `fixed_combination` are what the program's name promises; nullptr or
/// empty: named on the command line.
int run_server(int argc, char** argv, const application* fixed_application,
               std::string_view fixed_combination);

}  // namespace heddle::servers
