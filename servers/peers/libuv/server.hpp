#pragma once

#include <uv.h>

#include "common/file_descriptor.hpp"
#include "common/listener.hpp"
#include "common/prefork_server.hpp"
#include "common/stop_event.hpp"
#include "libuv/connection.hpp"
#include "libuv/loop.hpp"

namespace peers {

/// One event loop a thread.
template <protocol Protocol>
class uv_worker {
 public:
  static constexpr bool no_delay = wants_no_delay(Protocol);

  explicit uv_worker(file_descriptor listener)
      : stop_event_(open_stop_event()), loop_(connection::on_closed) {
    watch_stop_event();
    listen(std::move(listener));
  }

  void run() { uv_run(loop_.get(), UV_RUN_DEFAULT); }

 private:
  using connection = uv_connection<Protocol>;

  void watch_stop_event() {
    uv_checked(uv_poll_init(loop_.get(), &stop_watch_, stop_event_.get()), "uv_poll_init");
    stop_watch_.data = nullptr;  // not a connection's
    const auto stop = [](uv_poll_t* watch, int, int) { uv_stop(watch->loop); };
    uv_checked(uv_poll_start(&stop_watch_, UV_READABLE, stop), "uv_poll_start");
  }

  void listen(file_descriptor socket) {
    uv_checked(uv_tcp_init(loop_.get(), &listener_), "uv_tcp_init");
    listener_.data = nullptr;
    uv_checked(uv_tcp_open(&listener_, socket.get()), "uv_tcp_open");
    (void)socket.release();
    const auto accept = [](uv_stream_t* listener, int status) {
      if (status == 0) connection::accept(listener);
    };
    uv_checked(uv_listen(reinterpret_cast<uv_stream_t*>(&listener_), backlog_connections, accept),
               "uv_listen");
  }

  file_descriptor stop_event_;
  uv_poll_t stop_watch_;
  uv_tcp_t listener_;
  uv_event_loop loop_;  // last: it goes before the handles in it
};

template <protocol Protocol>
using libuv_server = prefork_server<uv_worker<Protocol>>;

}  // namespace peers
