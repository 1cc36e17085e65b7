#pragma once

#include "applications.hpp"

namespace heddle::servers {

/// Runs a server program and returns its exit code: 0 after SIGTERM or SIGINT, 1 when it cannot
/// serve, 2 for a wrong command line.
///
/// `fixed_application`: what the program's name promises; such a program is linked with one
/// combination, which is fixed as well. nullptr: both are named on the command line.
int run_server(int argc, char** argv, const application* fixed_application);

}  // namespace heddle::servers
