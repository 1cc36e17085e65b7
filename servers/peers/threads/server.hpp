#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_set>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "common/answers.hpp"
#include "common/listener.hpp"
#include "common/parameters.hpp"
#include "common/stop_event.hpp"

namespace peers {

/// One thread a connection, blocking reads and writes. The caller of run() accepts.
template <protocol Protocol>
class threads_server {
 public:
  static constexpr peer_kind kind = peer_kind::shared;
  static constexpr bool no_delay = wants_no_delay(Protocol);

  using options = no_options;

  /// The number of workers says nothing here: there are as many threads as connections.
  threads_server(std::vector<file_descriptor> listeners, unsigned, const options&)
      : listener_(std::move(listeners.front())), stop_event_(open_stop_event()) {}

  ~threads_server() {
    std::unique_lock guard(lock_);
    for (const int socket : open_sockets_) ::shutdown(socket, SHUT_RDWR);
    all_closed_.wait(guard, [this] { return open_sockets_.empty(); });
  }

  void run() {
    while (!stopped_within(std::nullopt)) {
      if (!accept_all()) {
        if (stopped_within(accept_pause)) return;
      }
    }
  }

 private:
  /// True once a stop signal has come. Without a limit it returns as soon as a client waits, too.
  bool stopped_within(std::optional<std::chrono::milliseconds> limit) {
    std::array<pollfd, 2> watched{
        {{stop_event_.get(), POLLIN, 0}, {limit ? -1 : listener_.get(), POLLIN, 0}}};
    ::poll(watched.data(), watched.size(), limit ? static_cast<int>(limit->count()) : -1);
    return watched[0].revents != 0;
  }

  /// False when no descriptor, memory or thread is left for a new connection.
  bool accept_all() {
    for (;;) {
      file_descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (socket.get() < 0) {
        if (errno == ECONNABORTED || errno == EINTR) continue;
        return errno == EAGAIN;
      }
      if (!start_thread(std::move(socket))) return false;
    }
  }

  bool start_thread(file_descriptor socket) {
    const int number = socket.get();
    {
      std::lock_guard guard(lock_);
      open_sockets_.insert(number);
    }
    try {
      // Detached: the destructor waits on open_sockets_, so no handle need be kept and reaped.
      std::thread([this, number] { serve(file_descriptor(number)); }).detach();
    } catch (const std::system_error&) {
      forget(number);
      return false;
    }
    (void)socket.release();
    return true;
  }

  void serve(file_descriptor socket) {
    if constexpr (Protocol == protocol::hello_timeout) limit_operations(socket.get());
    answers<Protocol> answering;
    char buffer[read_buffer_bytes(Protocol)];
    ssize_t got = 0;
    while (!answering.closes() && (got = ::read(socket.get(), buffer, sizeof buffer)) > 0) {
      const std::string_view answer = answering.answer({buffer, static_cast<std::size_t>(got)});
      // A blocking send comes back short only when it failed or its time is up.
      if (!answer.empty() && ::send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL) !=
                                 static_cast<ssize_t>(answer.size()))
        break;
    }
    forget(socket.get());
  }

  static void limit_operations(int socket) {
    const timeval limit{.tv_sec = operation_limit.count(), .tv_usec = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }

  /// Before the socket closes, so that the destructor never shuts down another's socket. After it
  /// the thread must not touch this object: the notification is sent under the lock for that
  /// reason.
  void forget(int socket) {
    std::lock_guard guard(lock_);
    open_sockets_.erase(socket);
    if (open_sockets_.empty()) all_closed_.notify_all();
  }

  file_descriptor listener_;
  file_descriptor stop_event_;
  std::mutex lock_;
  std::condition_variable all_closed_;
  std::unordered_set<int> open_sockets_;  // guarded by lock_
};

}  // namespace peers
