#pragma once

#include <vector>

#include "asio-shared/workloads.hpp"
#include "common/asio_service.hpp"
#include "common/run_on_threads.hpp"

namespace peers {

/// One io_context that all workers run: any of them may serve any connection.
template <protocol Protocol>
class asio_shared_server {
 public:
  static constexpr peer_kind kind = peer_kind::shared;
  static constexpr bool no_delay = asio_service<Protocol>::no_delay;
  using options = typename asio_work<Protocol>::options;

  asio_shared_server(std::vector<file_descriptor> listeners, unsigned workers,
                     const options& options)
      : service_(std::move(listeners.front()), workers, options), workers_(workers) {}

  void run() {
    run_on_threads(workers_, [this](unsigned) { service_.run(); });
  }

 private:
  asio_service<Protocol> service_;
  unsigned workers_;
};

}  // namespace peers
