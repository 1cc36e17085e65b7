#pragma once

#include "common/asio_service.hpp"
#include "common/prefork_server.hpp"

namespace peers {

/// One io_context a thread, told so by its concurrency hint.
template <protocol Protocol>
class asio_prefork_worker : public asio_service<Protocol> {
 public:
  explicit asio_prefork_worker(file_descriptor listener)
      : asio_service<Protocol>(std::move(listener), 1) {}
};

template <protocol Protocol>
using asio_prefork_server = prefork_server<asio_prefork_worker<Protocol>>;

}  // namespace peers
