#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <sys/socket.h>

#include "common/answers.hpp"
#include "common/file_descriptor.hpp"
#include "uring-prefork/ring.hpp"

namespace peers {

/// What a completion is about; the last three belong to a connection.
enum class uring_operation : std::uint64_t { accept, pause, stop, cancel, receive, send, close };

/// An operation and the address of its connection in one word: addresses are multiples of 8.
struct uring_tag {
  static std::uint64_t of(uring_operation what, const void* connection) {
    return reinterpret_cast<std::uint64_t>(connection) | static_cast<std::uint64_t>(what);
  }
  static std::pair<uring_operation, std::uint64_t> parts(std::uint64_t tag) {
    return {static_cast<uring_operation>(tag & 7), tag & ~std::uint64_t{7}};
  }
};

/// One connection on a ring. Its answers are gathered while a batch of completions is looked at;
/// send_answers() then sends them with one request, without waiting, and hears of it only if the
/// socket did not take all. Then a send that waits takes the rest, and nothing is received before
/// it is done. So at most one send is under way, and answers never change their order.
template <protocol Protocol>
class alignas(8) uring_connection {
 public:
  uring_connection(ring& ring, file_descriptor socket) : ring_(ring), socket_(std::move(socket)) {}
  uring_connection(const uring_connection&) = delete;
  uring_connection& operator=(const uring_connection&) = delete;

  void receive() {
    io_uring_sqe* const entry = ring_.entry();
    if constexpr (is_oneshot) {
      io_uring_prep_recv(entry, socket_.get(), nullptr, 0, 0);
    } else {
      io_uring_prep_recv_multishot(entry, socket_.get(), nullptr, 0, 0);
    }
    entry->flags |= IOSQE_BUFFER_SELECT;
    entry->buf_group = provided_buffers::group;
    tag(entry, uring_operation::receive);
    is_receiving_ = true;
  }

  /// A receive completed. True when send_answers() is to be called at the batch's end.
  bool received(int result, std::string_view data, bool is_last) {
    if (is_last) is_receiving_ = false;
    if (result > 0) {
      output_ += answers_.answer(data);
      if (answers_.closes()) closes_ = true;
    } else if (result != -ENOBUFS && result != -ECANCELED && result != -EINTR) {
      closes_ = true;
    }
    return note();
  }

  /// A send completed that did not send all at once, or the one that took the rest. True as above.
  bool sent(int result) {
    if (result < 0 && result != -EAGAIN && result != -EINTR) {
      is_broken_ = true;  // the receive sees an end or an error, too
      sending_.clear();
    } else {
      sending_.erase(0, result > 0 ? static_cast<std::size_t>(result) : 0);
    }
    is_blocked_ = !sending_.empty();
    if (!is_blocked_) return note();
    if (is_receiving_) stop_receiving();
    send(sending_, MSG_WAITALL | MSG_NOSIGNAL);
    return false;
  }

  /// Sends what is answered, closes if that is next, else sees to it that more is received.
  void send_answers() {
    is_noted_ = false;
    if (is_blocked_) return;
    const bool can_close = closes_ && !is_receiving_;
    sending_.swap(output_);
    output_.clear();
    if (!sending_.empty() && !is_broken_) {
      ring_.reserve(2);
      // With MSG_WAITALL a send that takes less is a failure: it posts a completion, and what is
      // linked to it, the close, does not happen.
      io_uring_sqe* const entry = send(sending_, MSG_DONTWAIT | MSG_WAITALL | MSG_NOSIGNAL);
      entry->flags |= IOSQE_CQE_SKIP_SUCCESS;
      if (can_close) entry->flags |= IOSQE_IO_LINK;
    }
    if (can_close) {
      close();
    } else if (closes_) {
      stop_receiving();
    } else if (!is_receiving_) {
      receive();
    }
  }

  /// The kernel has closed the socket.
  void closed() { (void)socket_.release(); }

 private:
  /// A socket stays open as long as something is received from it. So where the server always
  /// closes it receives once; where it seldom does it ends the receive first.
  static constexpr bool is_oneshot = Protocol == protocol::http_close;

  /// Whether this is to be noted for the batch's end and is not yet.
  bool note() { return !is_blocked_ && !std::exchange(is_noted_, true); }

  io_uring_sqe* send(std::string_view bytes, int flags) {
    io_uring_sqe* const entry = ring_.entry();
    io_uring_prep_send(entry, socket_.get(), bytes.data(), bytes.size(), flags);
    tag(entry, uring_operation::send);
    return entry;
  }

  void stop_receiving() {
    io_uring_sqe* const entry = ring_.entry();
    io_uring_prep_cancel64(entry, uring_tag::of(uring_operation::receive, this), 0);
    io_uring_sqe_set_data64(entry, static_cast<std::uint64_t>(uring_operation::cancel));
  }

  void close() {
    io_uring_sqe* const entry = ring_.entry();
    io_uring_prep_close(entry, socket_.get());
    tag(entry, uring_operation::close);
  }

  void tag(io_uring_sqe* entry, uring_operation what) {
    io_uring_sqe_set_data64(entry, uring_tag::of(what, this));
  }

  ring& ring_;
  file_descriptor socket_;
  [[no_unique_address]] answers<Protocol> answers_;
  std::string output_;   // answered, and no send has been asked for
  std::string sending_;  // what the last send was to send; changed only when that is known
  bool is_receiving_ = false;
  bool is_blocked_ = false;  // a send waits for the socket to take more
  bool is_broken_ = false;   // no send can succeed any more
  bool closes_ = false;      // once all is sent
  bool is_noted_ = false;    // send_answers() is to be called at the batch's end
};

}  // namespace peers
