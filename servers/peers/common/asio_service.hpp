#pragma once

#include <cstdint>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "common/asio_connection.hpp"
#include "common/listener.hpp"
#include "common/stop_event.hpp"

namespace peers {

/// An io_context that accepts from one listener and serves until a stop signal comes.
template <protocol Protocol>
class asio_service {
 public:
  using work = asio_work<Protocol>;

  static constexpr bool no_delay = wants_no_delay(Protocol);

  /// `threads` will call run().
  asio_service(file_descriptor listener, unsigned threads,
               const typename work::options& options = {})
      : io_(static_cast<int>(threads)),
        work_(io_.get_executor(), options, threads),
        stop_event_(io_.get_executor(), open_stop_event().release()),
        acceptor_(io_.get_executor()),
        pause_(io_.get_executor()) {
    const bool ipv4 = address_family(listener.get()) == AF_INET;
    acceptor_.assign(ipv4 ? asio::ip::tcp::v4() : asio::ip::tcp::v6(), listener.get());
    (void)listener.release();
    stop_event_.async_wait(stop_event_.wait_read, [this](error_code) { io_.stop(); });
    accept();
  }

  void run() { io_.run(); }

 private:
  void accept() {
    acceptor_.async_accept([this](error_code error, asio_socket socket) {
      if (error && error != asio::error::connection_aborted) return accept_later();
      if (!error) asio_connection<Protocol>::start(std::move(socket), work_, accepted_++);
      accept();
    });
  }

  /// No descriptor or memory is left: accepting at once would fail again, without end.
  void accept_later() {
    pause_.expires_after(accept_pause);
    pause_.async_wait([this](error_code) { accept(); });
  }

  asio::io_context io_;
  [[no_unique_address]] work work_;
  asio::posix::basic_stream_descriptor<asio_executor> stop_event_;
  asio::basic_socket_acceptor<asio::ip::tcp, asio_executor> acceptor_;
  asio_timer pause_;
  std::uint64_t accepted_ = 0;
};

}  // namespace peers
