#include "asio-prefork/worker.hpp"
#include "common/peer_main.hpp"
#include "common/prefork_server.hpp"

int main(int argc, char** argv) {
  using worker = peers::asio_prefork_worker<peers::protocol::hello_timeout>;
  return peers::peer_main<peers::prefork_server<worker>>(argc, argv);
}
