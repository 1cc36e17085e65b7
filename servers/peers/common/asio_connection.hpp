#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include "common/answers.hpp"
#include "common/asio_types.hpp"
#include "common/asio_work.hpp"

namespace peers {

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

/// Reads, works and answers in turn. One of these is in progress at any time, and its handler owns
/// the connection, so handlers need no strand on an io_context that many threads run.
template <protocol Protocol>
class asio_connection {
 public:
  using work = asio_work<Protocol>;

  /// `index` counts connections; `shared` must outlive all of them.
  asio_connection(asio_socket socket, work& shared, std::uint64_t index)
      : socket_(std::move(socket)), limit_(socket_.get_executor()), work_(shared, index) {}

  static void start(asio_socket socket, work& shared, std::uint64_t index) {
    read(std::make_shared<asio_connection>(std::move(socket), shared, index));
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
        [self = std::move(self)](error_code error, std::size_t got) mutable {
          if (error) return self->limit_.stop();
          asio_connection& connection = *self;
          connection.work_.run(
              [self = std::move(self), got]() mutable { answer(std::move(self), got); });
        });
  }

  static void answer(owner self, std::size_t got) {
    asio_connection& connection = *self;
    const std::string_view answer = connection.answers_.answer({connection.input_.data(), got});
    if (answer.empty()) return read(std::move(self));
    connection.limit_.start(self);
    asio::async_write(connection.socket_, asio::buffer(answer),
                      [self = std::move(self)](error_code error, std::size_t) mutable {
                        if (error) return self->limit_.stop();
                        if (!self->answers_.closes()) read(std::move(self));
                      });
  }

  asio_socket socket_;
  [[no_unique_address]] asio_limit<Protocol> limit_;
  [[no_unique_address]] typename work::of_connection work_;
  [[no_unique_address]] answers<Protocol> answers_;
  std::array<char, read_buffer_bytes(Protocol)> input_;
};

}  // namespace peers
