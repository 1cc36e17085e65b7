#pragma once

#include <cstdint>

#include "common/asio_types.hpp"
#include "common/parameters.hpp"
#include "common/protocol.hpp"

namespace peers {

/// What a protocol does between a read and its answer; here nothing. All connections share an
/// object of this class; each has a part of its own, whose run(then) works, then calls `then` once,
/// on whatever thread of the io_context.
template <protocol Protocol>
class asio_work {
  static_assert(!is_workload(Protocol), "include asio-shared/workloads.hpp");

 public:
  using options = no_options;

  asio_work(const asio_executor&, const options&, unsigned) {}

  class of_connection {
   public:
    of_connection(asio_work&, std::uint64_t) {}

    template <class Then>
    void run(Then then) {
      then();
    }
  };
};

}  // namespace peers
