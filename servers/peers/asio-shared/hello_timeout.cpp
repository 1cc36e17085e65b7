#include "asio-shared/server.hpp"
#include "common/peer_main.hpp"

int main(int argc, char** argv) {
  return peers::peer_main<peers::asio_shared_server<peers::protocol::hello_timeout>>(argc, argv);
}
