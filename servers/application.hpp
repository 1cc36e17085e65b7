#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "parameters.hpp"
#include <heddle/net/socket.hpp>

namespace heddle::servers {

/// An application at work in one runtime. Made before the run; outlives every fiber of it.
class service {
 public:
  service() = default;
  virtual ~service() = default;
  service(const service&) = delete;
  service& operator=(const service&) = delete;

  /// Starts what runs beside the connections. Called in a fiber, before the first connection.
  virtual void start() {}

  /// Serves one connection, in a fiber of its own. Threads: any number at once.
  virtual void serve(socket peer) = 0;

  /// Lets what start() started end, if the runtime's stop does not. Called in a fiber, after the
  /// last connection was accepted, but while connections are served; also when start() failed.
  virtual void stop() noexcept {}
};

/// What a server can do.
struct application {
  std::string_view name;
  std::span<const parameter> parameters;
  std::unique_ptr<service> (*make)(const parameter_values& values, unsigned workers);
};

/// For application::make, of a service that is made from the values and the number of workers.
template <class Service>
std::unique_ptr<service> make_service(const parameter_values& values, unsigned workers) {
  return std::make_unique<Service>(values, workers);
}

/// For application::make, when connections have nothing in common.
template <void (*Serve)(socket)>
std::unique_ptr<service> make_stateless(const parameter_values&, unsigned) {
  class stateless final : public service {
    void serve(socket peer) override { Serve(std::move(peer)); }
  };
  return std::make_unique<stateless>();
}

}  // namespace heddle::servers
