#pragma once

#include <array>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <utility>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/write.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>

#include "boost-fiber/scheduler.hpp"
#include "common/answers.hpp"
#include "common/listener.hpp"
#include "common/prefork_server.hpp"
#include "common/stop_event.hpp"

namespace peers {

/// One io_context and one scheduler of fibers a thread, and one fiber a connection.
template <protocol Protocol>
class fiber_worker {
 public:
  static constexpr bool no_delay = wants_no_delay(Protocol);

  explicit fiber_worker(file_descriptor listener)
      : io_(1),
        stop_event_(io_.get_executor(), open_stop_event().release()),
        acceptor_(io_.get_executor()),
        pause_(io_.get_executor()) {
    const bool ipv4 = address_family(listener.get()) == AF_INET;
    acceptor_.assign(ipv4 ? asio::ip::tcp::v4() : asio::ip::tcp::v6(), listener.get());
    (void)listener.release();
    stop_event_.async_wait(stop_event_.wait_read, [this](error_code) { stop(); });
  }

  /// On a thread that ends before it returns: a thread's scheduler, which uses the io_context, ends
  /// with the thread, after the last fiber.
  void run() {
    std::thread([this] { accept_all(); }).join();
  }

 private:
  void accept_all() {
    boost::fibers::use_scheduling_algorithm<fiber_scheduler>(io_);
    const auto work = asio::make_work_guard(io_);
    while (!stops_) {
      asio_socket socket(io_.get_executor());
      const error_code error =
          wait_for([&](auto handler) { acceptor_.async_accept(socket, handler); }).error;
      if (!error) {
        boost::fibers::fiber([this, socket = std::move(socket)]() mutable {
          serve(socket);
        }).detach();
      } else if (error != asio::error::connection_aborted && !stops_) {
        // No descriptor or memory is left: accepting at once would fail again, without end.
        pause_.expires_after(accept_pause);
        wait_for([this](auto handler) { pause_.async_wait(handler); });
      }
    }
  }

  void serve(asio_socket& socket) {
    if (stops_) return;
    open_sockets_.insert(&socket);
    answers<Protocol> answering;
    std::array<char, read_buffer_bytes(Protocol)> input;
    while (!answering.closes()) {
      const auto [error, got] =
          wait_for([&](auto handler) { socket.async_read_some(asio::buffer(input), handler); });
      if (error) break;
      const std::string_view answer = answering.answer({input.data(), got});
      if (answer.empty()) continue;
      const fiber_result written =
          wait_for([&](auto handler) { asio::async_write(socket, asio::buffer(answer), handler); });
      if (written.error) break;
    }
    open_sockets_.erase(&socket);
  }

  /// Makes every operation that a fiber waits for fail.
  void stop() {
    stops_ = true;
    error_code ignored;
    acceptor_.cancel(ignored);
    pause_.cancel();
    for (asio_socket* const socket : open_sockets_)
      socket->shutdown(asio_socket::shutdown_both, ignored);
  }

  asio::io_context io_;
  asio::posix::basic_stream_descriptor<asio_executor> stop_event_;
  asio::basic_socket_acceptor<asio::ip::tcp, asio_executor> acceptor_;
  asio_timer pause_;
  std::unordered_set<asio_socket*> open_sockets_;
  bool stops_ = false;
};

template <protocol Protocol>
using boost_fiber_server = prefork_server<fiber_worker<Protocol>>;

}  // namespace peers
