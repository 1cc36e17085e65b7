#include "common/peer_main.hpp"
#include "common/prefork_server.hpp"
#include "libuv/worker.hpp"

int main(int argc, char** argv) {
  using worker = peers::uv_worker<peers::protocol::hello>;
  return peers::peer_main<peers::prefork_server<worker>>(argc, argv);
}
