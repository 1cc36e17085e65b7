#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include <sys/epoll.h>
#include <sys/socket.h>

#include "common/answers.hpp"
#include "common/prefork_server.hpp"

namespace peers {

/// One edge-triggered epoll loop. A connection is registered once, for reading; only one that took
/// part of a response is registered again, for writing, and nothing is read from it until the rest
/// is out.
template <protocol Protocol>
class epoll_worker {
 public:
  static constexpr bool no_delay = wants_no_delay(Protocol);

  explicit epoll_worker(file_descriptor listener)
      : listener_(std::move(listener)),
        stop_event_(open_stop_event()),
        poller_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")) {
    checked(control(EPOLL_CTL_ADD, stop_event_.get(), EPOLLIN, &stop_event_), "epoll_ctl");
    checked(control(EPOLL_CTL_ADD, listener_.get(), EPOLLIN, &listener_), "epoll_ctl");
  }

  void run() {
    std::array<epoll_event, events_per_wait> events;
    for (;;) {
      const int count = ::epoll_wait(poller_.get(), events.data(), events.size(), wait_limit_ms());
      if (count < 0 && errno != EINTR) checked(count, "epoll_wait");
      for (const epoll_event& event : std::span(events.data(), count > 0 ? count : 0)) {
        if (event.data.ptr == &listener_) {
          accept_all();
        } else if (event.data.ptr == &stop_event_) {
          return;
        } else {
          serve(*static_cast<connection*>(event.data.ptr), event.events);
        }
      }
      if (accept_again_at_ && clock::now() >= *accept_again_at_) resume_accepting();
    }
  }

 private:
  using clock = std::chrono::steady_clock;

  struct connection {
    file_descriptor socket;
    [[no_unique_address]] answers<Protocol> answering;
    std::string owed;  // of the last answer, still to be sent
  };

  static constexpr std::size_t events_per_wait = 128;
  static constexpr std::uint32_t readable = EPOLLIN | EPOLLRDHUP | EPOLLET;
  static constexpr std::uint32_t writable = EPOLLOUT | EPOLLET;

  int control(int verb, int descriptor, std::uint32_t events, void* context) {
    epoll_event event{.events = events, .data = {.ptr = context}};
    return ::epoll_ctl(poller_.get(), verb, descriptor, &event);
  }

  int wait_limit_ms() const {
    return accept_again_at_ ? static_cast<int>(accept_pause.count()) : -1;
  }

  void accept_all() {
    for (;;) {
      const int socket = ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (socket >= 0) {
        connection& peer = connections_[socket];
        peer.socket = file_descriptor(socket);
        if (control(EPOLL_CTL_ADD, socket, readable, &peer) < 0) close(peer);
      } else if (errno == EAGAIN) {
        return;
      } else if (errno != ECONNABORTED && errno != EINTR) {
        return pause_accepting();
      }
    }
  }

  /// No descriptor or memory is left. The listener stays readable, so it would wake this loop
  /// without end; descriptors may also come free in another worker, so only time can tell.
  void pause_accepting() {
    control(EPOLL_CTL_MOD, listener_.get(), 0, &listener_);
    accept_again_at_ = clock::now() + accept_pause;
  }

  void resume_accepting() {
    accept_again_at_.reset();
    control(EPOLL_CTL_MOD, listener_.get(), EPOLLIN, &listener_);
  }

  void serve(connection& peer, std::uint32_t events) {
    if (!peer.owed.empty()) return send_owed(peer);
    const int socket = peer.socket.get();
    for (;;) {
      char buffer[read_buffer_bytes(Protocol)];
      const ssize_t got = ::read(socket, buffer, sizeof buffer);
      if (got <= 0) {
        if (got == 0 || errno != EAGAIN) close(peer);
        return;
      }
      const std::string_view answer =
          peer.answering.answer({buffer, static_cast<std::size_t>(got)});
      if (!answer.empty()) {
        const ssize_t sent = ::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL);
        if (sent != static_cast<ssize_t>(answer.size())) return owe(peer, answer, sent);
      }
      if (peer.answering.closes()) return close(peer);
      // A read that did not fill the buffer took all there was; what comes later is a new edge.
      if (got != static_cast<ssize_t>(sizeof buffer)) break;
    }
    if ((events & EPOLLRDHUP) != 0) close(peer);
  }

  void owe(connection& peer, std::string_view answer, ssize_t sent) {
    if (sent < 0 && errno != EAGAIN) return close(peer);
    peer.owed = answer.substr(static_cast<std::size_t>(sent < 0 ? 0 : sent));
    watch(peer, writable);
  }

  void send_owed(connection& peer) {
    const ssize_t sent =
        ::send(peer.socket.get(), peer.owed.data(), peer.owed.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno != EAGAIN) close(peer);
      return;
    }
    peer.owed.erase(0, static_cast<std::size_t>(sent));
    if (!peer.owed.empty()) return;
    if (peer.answering.closes()) return close(peer);
    watch(peer, readable);
  }

  /// Reports what is ready already, so no edge is lost in between.
  void watch(connection& peer, std::uint32_t events) {
    if (control(EPOLL_CTL_MOD, peer.socket.get(), events, &peer) < 0) close(peer);
  }

  void close(connection& peer) { connections_.erase(peer.socket.get()); }

  file_descriptor listener_;
  file_descriptor stop_event_;
  file_descriptor poller_;
  std::unordered_map<int, connection> connections_;  // by descriptor; its nodes never move
  std::optional<clock::time_point> accept_again_at_;
};

template <protocol Protocol>
using raw_epoll_server = prefork_server<epoll_worker<Protocol>>;

}  // namespace peers
