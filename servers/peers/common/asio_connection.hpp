#pragma once

#include <array>
#include <chrono>
#include <memory>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "common/protocol.hpp"

namespace peers {

namespace asio = boost::asio;
using boost::system::error_code;

// With the executor's own type instead of any_io_executor: no indirect calls.
using asio_executor = asio::io_context::executor_type;
using asio_socket = asio::basic_stream_socket<asio::ip::tcp, asio_executor>;
using asio_timer =
    asio::basic_waitable_timer<std::chrono::steady_clock,
                               asio::wait_traits<std::chrono::steady_clock>, asio_executor>;

/// Bounds the one operation of a connection that is in progress, if the protocol wants it.
template <protocol Protocol>
class asio_limit {
 public:
  explicit asio_limit(const asio_executor&) {}
  template <class Connection>
  void start(const std::shared_ptr<Connection>&) {}
  void stop() {}
};

template <>
class asio_limit<protocol::hello_timeout> {
 public:
  explicit asio_limit(const asio_executor& executor) : timer_(executor) {}

  /// For the operation that follows, in place of the one before.
  template <class Connection>
  void start(const std::shared_ptr<Connection>& connection) {
    timer_.expires_after(operation_limit);
    timer_.async_wait([connection](error_code error) {
      if (!error) connection->abort();
    });
  }

  void stop() { timer_.cancel(); }

 private:
  asio_timer timer_;
};

/// Reads and answers in turn. One read or write is in progress at any time, and its handler owns
/// the connection, so handlers need no strand on an io_context that many threads run.
template <protocol Protocol>
class asio_connection {
 public:
  explicit asio_connection(asio_socket socket)
      : socket_(std::move(socket)), limit_(socket_.get_executor()) {}

  static void start(asio_socket socket) {
    read(std::make_shared<asio_connection>(std::move(socket)));
  }

  /// Makes the operation in progress fail; any thread. It only shuts the descriptor down, which is
  /// one system call; the socket is not closed before every handler has let go of the connection.
  void abort() {
    error_code ignored;
    socket_.shutdown(asio_socket::shutdown_both, ignored);
  }

 private:
  using owner = std::shared_ptr<asio_connection>;

  static void read(owner self) {
    asio_connection& connection = *self;
    connection.limit_.start(self);
    connection.socket_.async_read_some(
        asio::buffer(connection.input_),
        [self = std::move(self)](error_code error, std::size_t) mutable {
          if (error) return self->limit_.stop();
          write(std::move(self));
        });
  }

  static void write(owner self) {
    asio_connection& connection = *self;
    connection.limit_.start(self);
    asio::async_write(connection.socket_, asio::buffer(response),
                      [self = std::move(self)](error_code error, std::size_t) mutable {
                        if (error) return self->limit_.stop();
                        read(std::move(self));
                      });
  }

  asio_socket socket_;
  [[no_unique_address]] asio_limit<Protocol> limit_;
  std::array<char, read_buffer_bytes> input_;
};

}  // namespace peers
