#pragma once

#include <array>
#include <chrono>
#include <string_view>

#include <uv.h>

#include "common/answers.hpp"

namespace peers {

/// Bounds the one operation of a connection that is in progress, if the protocol wants it.
template <protocol Protocol>
class uv_limit {
 public:
  static constexpr int handles = 0;

  void open(uv_loop_t*, void*) {}
  void restart(uv_timer_cb) {}
  void close(uv_close_cb) {}
};

template <>
class uv_limit<protocol::hello_timeout> {
 public:
  static constexpr int handles = 1;

  void open(uv_loop_t* loop, void* connection) {
    uv_timer_init(loop, &timer_);
    timer_.data = connection;
  }

  void restart(uv_timer_cb time_is_up) {
    const std::chrono::milliseconds limit = operation_limit;
    uv_timer_start(&timer_, time_is_up, static_cast<std::uint64_t>(limit.count()), 0);
  }

  void close(uv_close_cb closed) { uv_close(reinterpret_cast<uv_handle_t*>(&timer_), closed); }

 private:
  uv_timer_t timer_;
};

/// Reads and answers in turn. It owns itself: libuv closes a handle some time after it is asked to,
/// and the memory goes with the last handle.
template <protocol Protocol>
class uv_connection {
 public:
  /// Takes the client that waits at `listener`.
  static void accept(uv_stream_t* listener) {
    auto* connection = new uv_connection(listener->loop);
    if (uv_accept(listener, connection->stream()) != 0) return connection->close();
    connection->read();
  }

  /// For every handle of a connection, and for handles without data.
  static void on_closed(uv_handle_t* handle) {
    auto* connection = static_cast<uv_connection*>(handle->data);
    if (connection != nullptr && --connection->open_handles_ == 0) delete connection;
  }

 private:
  explicit uv_connection(uv_loop_t* loop) {
    uv_tcp_init(loop, &socket_);
    socket_.data = this;
    limit_.open(loop, this);
  }

  template <class Handle>
  static uv_connection& of(Handle* handle) {
    return *static_cast<uv_connection*>(handle->data);
  }

  uv_stream_t* stream() { return reinterpret_cast<uv_stream_t*>(&socket_); }

  void read() {
    if (uv_read_start(stream(), lend_buffer, on_read) != 0) return close();
    limit_.restart(time_is_up);
  }

  static void lend_buffer(uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
    auto& input = of(handle).input_;
    *buffer = uv_buf_init(input.data(), input.size());
  }

  static void on_read(uv_stream_t* stream, ssize_t got, const uv_buf_t*) {
    if (got < 0) {
      of(stream).close();
    } else if (got > 0) {
      of(stream).answer(static_cast<std::size_t>(got));
    }
  }

  void answer(std::size_t got) {
    const std::string_view answer = answers_.answer({input_.data(), got});
    if (answer.empty()) return;
    uv_buf_t whole = buffer_of(answer);
    const int sent = uv_try_write(stream(), &whole, 1);
    if (sent == static_cast<int>(answer.size())) {
      if (answers_.closes()) return close();
      limit_.restart(time_is_up);  // for the read that follows: reading was never stopped
    } else if (sent >= 0 || sent == UV_EAGAIN) {
      write(answer.substr(static_cast<std::size_t>(sent > 0 ? sent : 0)));
    } else {
      close();
    }
  }

  /// What the socket did not take at once. Nothing is read meanwhile.
  void write(std::string_view rest) {
    uv_read_stop(stream());
    write_.data = this;
    uv_buf_t buffer = buffer_of(rest);
    if (uv_write(&write_, stream(), &buffer, 1, on_written) != 0) return close();
    limit_.restart(time_is_up);
  }

  static void on_written(uv_write_t* write, int status) {
    auto& connection = of(write);
    if (status != 0 || connection.answers_.closes()) return connection.close();
    connection.read();
  }

  static void time_is_up(uv_timer_t* timer) { of(timer).close(); }

  static uv_buf_t buffer_of(std::string_view text) {
    return uv_buf_init(const_cast<char*>(text.data()), static_cast<unsigned>(text.size()));
  }

  void close() {
    auto* handle = reinterpret_cast<uv_handle_t*>(&socket_);
    if (uv_is_closing(handle)) return;
    uv_close(handle, on_closed);
    limit_.close(on_closed);
  }

  uv_tcp_t socket_;
  uv_write_t write_;
  [[no_unique_address]] uv_limit<Protocol> limit_;
  int open_handles_ = 1 + uv_limit<Protocol>::handles;
  [[no_unique_address]] answers<Protocol> answers_;
  std::array<char, read_buffer_bytes(Protocol)> input_;
};

}  // namespace peers
