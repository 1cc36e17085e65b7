#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fcntl.h>
#include <poll.h>

#include "common/prefork_server.hpp"
#include "common/stop_event.hpp"
#include "uring-prefork/connection.hpp"
#include "uring-prefork/ring.hpp"

namespace peers {

/// One ring a thread: a multishot accept, a multishot receive a connection into provided buffers,
/// and one system call a batch. What a batch of completions answers is gathered by connection and
/// sent with one send each, which posts a completion only if it could not send all at once.
template <protocol Protocol>
class uring_worker {
 public:
  static constexpr bool no_delay = wants_no_delay(Protocol);

  explicit uring_worker(file_descriptor listener)
      : listener_(std::move(listener)),
        stop_event_(open_stop_event()),
        buffers_(read_buffer_bytes(Protocol)) {
    buffers_.register_with(ring_);
    // A descriptor that does not block is not waited for by the kernel either.
    const int flags = checked(::fcntl(listener_.get(), F_GETFL), "fcntl");
    checked(::fcntl(listener_.get(), F_SETFL, flags & ~O_NONBLOCK), "fcntl");
  }

  void run() {
    ring_.enable();
    io_uring_sqe* const stop = ring_.entry();
    io_uring_prep_poll_add(stop, stop_event_.get(), POLLIN);
    io_uring_sqe_set_data64(stop, static_cast<std::uint64_t>(operation::stop));
    accept();
    for (;;) {
      ring_.submit_and_wait();
      ring_.for_each_completion([this](const io_uring_cqe& completion) { complete(completion); });
      if (stops_) return;
      for (connection* const peer : answered_) peer->send_answers();
      answered_.clear();
      buffers_.publish();
    }
  }

 private:
  using connection = uring_connection<Protocol>;
  using operation = uring_operation;

  void accept() {
    io_uring_sqe* const entry = ring_.entry();
    io_uring_prep_multishot_accept(entry, listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    io_uring_sqe_set_data64(entry, static_cast<std::uint64_t>(operation::accept));
  }

  /// No descriptor or memory is left: accepting at once would fail again, without end.
  void accept_later() {
    io_uring_sqe* const entry = ring_.entry();
    io_uring_prep_timeout(entry, &pause_, 0, 0);
    io_uring_sqe_set_data64(entry, static_cast<std::uint64_t>(operation::pause));
  }

  void complete(const io_uring_cqe& completion) {
    const auto [what, address] = uring_tag::parts(io_uring_cqe_get_data64(&completion));
    switch (what) {
      case operation::accept:
        return accepted(completion);
      case operation::pause:
        return accept();
      case operation::stop:
        stops_ = true;
        return;
      case operation::cancel:
        return;
      default:
        break;
    }
    auto& peer = *reinterpret_cast<connection*>(address);
    if (what == operation::receive) {
      received(peer, completion);
    } else if (what == operation::send) {
      if (peer.sent(completion.res)) answered_.push_back(&peer);
    } else if (completion.res != -ECANCELED) {  // which says that not all is sent
      peer.closed();
      connections_.erase(&peer);
    }
  }

  void accepted(const io_uring_cqe& completion) {
    if (completion.res >= 0) {
      auto peer = std::make_unique<connection>(ring_, file_descriptor(completion.res));
      peer->receive();
      connections_.emplace(peer.get(), std::move(peer));
    } else if (completion.res != -ECONNABORTED && completion.res != -EINTR) {
      return accept_later();
    }
    if ((completion.flags & IORING_CQE_F_MORE) == 0) accept();
  }

  void received(connection& peer, const io_uring_cqe& completion) {
    std::string_view data;
    if ((completion.flags & IORING_CQE_F_BUFFER) != 0) {
      if (completion.res > 0) data = buffers_.data(completion);
      buffers_.give_back(provided_buffers::id_of(completion));  // not published before data is used
    }
    const bool is_last = (completion.flags & IORING_CQE_F_MORE) == 0;
    if (peer.received(completion.res, data, is_last)) answered_.push_back(&peer);
  }

  file_descriptor listener_;
  file_descriptor stop_event_;
  provided_buffers buffers_;
  std::unordered_map<connection*, std::unique_ptr<connection>> connections_;
  std::vector<connection*> answered_;  // have something to send, or to close, at the batch's end
  __kernel_timespec pause_{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(accept_pause).count()};
  bool stops_ = false;
  ring ring_;  // last: it goes before the memory that it uses
};

template <protocol Protocol>
using uring_prefork_server = prefork_server<uring_worker<Protocol>>;

}  // namespace peers
