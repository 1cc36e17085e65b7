#include "common/peer_main.hpp"
#include "threads/server.hpp"

int main(int argc, char** argv) {
  return peers::peer_main<peers::threads_server<peers::protocol::hello>>(argc, argv);
}
