#include "common/peer_main.hpp"

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace peers {

void announce(const socket_address& address) {
  if (std::printf("listening on %s\n", to_string(address).c_str()) < 0 ||
      std::fflush(stdout) != 0) {
    throw std::system_error(errno, std::generic_category(), "standard output");
  }
}

int report_failure(const std::string& program, const socket_address& address,
                   const std::exception& error) {
  std::fprintf(stderr, "%s: cannot serve on %s: %s\n", program.c_str(), to_string(address).c_str(),
               error.what());
  return 1;
}

}  // namespace peers
