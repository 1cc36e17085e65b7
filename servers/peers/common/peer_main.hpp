#pragma once

#include <concepts>
#include <exception>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/listener.hpp"
#include "common/stop_event.hpp"

namespace peers {

/// A server under comparison. Its constructor prepares everything that can fail; run() serves until
/// a stop signal comes, then returns with every thread joined. `no_delay`: its connections have
/// TCP_NODELAY. `options` lists its `parameters()`, which the command line may set.
template <class Server>
concept peer_server = std::constructible_from < Server,
        std::vector<file_descriptor>,
unsigned, const typename Server::options& >
              &&std::same_as<decltype(Server::kind), const peer_kind>&&
                  std::same_as<decltype(Server::no_delay), const bool>&& requires(Server server) {
  server.run();
};

/// Prints "listening on ADDRESS:PORT", so that who asked for port 0 learns the port.
/// Throws std::system_error if standard output takes nothing.
void announce(const socket_address& address);

/// One line on standard error; returns the exit status of a failure, 1.
int report_failure(const std::string& program, const socket_address& address,
                   const std::exception& error);

/// The whole main() of a peer: exit status 0 after SIGTERM or SIGINT, 1 when it cannot serve, 2 on
/// bad arguments.
template <peer_server Server>
int peer_main(int argc, char** argv) {
  typename Server::options options;
  const command_line command = parse_command_line(argc, argv, options.parameters());
  try {
    block_stop_signals();
    listeners opened =
        open_listeners(command.address, Server::kind, command.workers, Server::no_delay);
    Server server(std::move(opened.sockets), command.workers, options);
    announce(opened.address);
    server.run();
    return 0;
  } catch (const std::exception& error) {
    return report_failure(command.program, command.address, error);
  }
}

}  // namespace peers
