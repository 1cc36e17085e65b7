#include <algorithm>
#include <cerrno>
#include <cstring>

#include <netinet/tcp.h>
#include <sys/socket.h>

#include "worker.hpp"
#include <heddle/base/clock.hpp>

namespace heddle::load {

/// Begins to connect. Its events name the connection and, above that, this socket's generation.
void worker::open_socket(connection& one, std::uint64_t now) {
  one.socket = unique_fd(
      ::socket(run_.target.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  one.state = link::connecting;
  one.waiting_since_ns = now;
  ++one.generation;
  const int fd = one.socket.get();
  const int on = 1;
  const auto at = static_cast<std::uint64_t>(&one - connections_.data());
  epoll_event event{EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                    {.u64 = std::uint64_t{one.generation} << 32 | at}};
  if (fd < 0 || ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
      (::connect(fd, run_.target.address(), run_.target.address_bytes()) != 0 &&
       errno != EINPROGRESS) ||
      ::epoll_ctl(poller_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    connect_failed(one, errno);
}

void worker::handle(connection& one, std::uint32_t events) {
  const std::uint32_t generation = one.generation;
  if (one.state == link::connecting) {
    if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
      int error = 0;
      socklen_t bytes = sizeof error;
      ::getsockopt(one.socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
      return connect_failed(one, error != 0 ? error : ECONNRESET);
    }
    if ((events & EPOLLOUT) == 0) return;
    connected(one);
  } else if ((events & EPOLLOUT) != 0 && one.send_left_bytes != 0) {
    flush(one);
  }
  const std::uint32_t over = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
  if (one.generation == generation && one.socket && ((events & EPOLLIN) != 0 || over != 0))
    receive(one, over != 0);
}

void worker::connected(connection& one) {
  one.state = link::open;
  ++open_links_;
  failing_since_ns_ = 0;
  if (!one.counted) {
    one.counted = true;
    ++tally_.connected;
  }
  if (!keeps_connections_) return flush(one);
  if (!sends_) return;
  const std::uint64_t now = now_ns();
  tally_.cut_off_ns += (now - one.waiting_since_ns) * run_.pipeline;
  next(one, now, run_.pipeline);
}

void worker::connect_failed(connection& one, int error) {
  if (tally_.problem.empty()) tally_.problem = std::string("connect: ") + std::strerror(error);
  abandon(one, failure::connect, 1);
  drop(one);
  one.state = link::down;
  if (failing_since_ns_ == 0) failing_since_ns_ = batch_ns_;
}

/// Sends `count` requests more on a connection that has room for them.
void worker::begin(connection& one, std::uint64_t begun_ns, std::uint64_t now, unsigned count) {
  if (one.outstanding == 0) one.waiting_since_ns = now;
  const std::size_t ring = static_cast<std::size_t>(&one - connections_.data()) * run_.pipeline;
  for (unsigned more = 0; more < count; ++more)
    begun_ns_[ring + (one.oldest + one.outstanding++) % run_.pipeline] = begun_ns;
  tally_.requests += count;
  outstanding_ += count;
  if (run_.speaks == protocol::echo) {
    one.echo_place = one.send_place = outgoing_.echo_place(one.messages++);
    one.echo_left_bytes = one.send_left_bytes = outgoing_.request_bytes();
    one.echo_differs = false;
  } else {
    one.send_left_bytes += count * outgoing_.request_bytes();
  }
  if (keeps_connections_)
    flush(one);
  else
    open_socket(one, now);
}

void worker::flush(connection& one) {
  while (one.send_left_bytes != 0) {
    const ssize_t sent =
        ::send(one.socket.get(), outgoing_.at(one.send_place), one.send_left_bytes, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) lose(one, failure::write, errno);
      return;
    }
    tally_.bytes_sent += static_cast<std::uint64_t>(sent);
    one.send_left_bytes -= static_cast<std::size_t>(sent);
    one.send_place = outgoing_.wrapped(one.send_place + static_cast<std::size_t>(sent));
  }
}

/// A receive that does not fill the buffer took all there was; what comes later is a new edge.
void worker::receive(connection& one, bool to_the_end) {
  const std::uint32_t generation = one.generation;
  for (;;) {
    const ssize_t got = ::recv(one.socket.get(), buffer_.data(), buffer_.size(), 0);
    if (got == 0) return ended(one);
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) lose(one, failure::read, errno);
      return;
    }
    const auto bytes = static_cast<std::size_t>(got);
    tally_.bytes_received += bytes;
    take(one, {buffer_.data(), bytes});
    if (one.generation != generation || !one.socket) return;
    if (bytes != buffer_.size() && !to_the_end) return;
  }
}

void worker::take(connection& one, std::string_view bytes) {
  if (run_.speaks == protocol::echo)
    take_echo(one, bytes);
  else
    take_http(one, bytes);
}

void worker::take_http(connection& one, std::string_view bytes) {
  unsigned answered = 0;
  bool keeps_open = true;
  while (!bytes.empty() && answered < one.outstanding && keeps_open && one.state != link::closing) {
    const http_reader::progress progress = one.reader.read(bytes);
    if (progress == http_reader::progress::more) break;
    if (progress == http_reader::progress::malformed) {
      if (answered != 0) record(one, answered, now_ns());
      return lose(one, failure::content);
    }
    ++answered;
    check_response(one);
    keeps_open = one.reader.keeps_open();
    if (!keeps_connections_ && !keeps_open) {
      one.state = link::closing;
      answered = 0;  // not before the end of the connection
    }
  }
  const bool surplus = !bytes.empty();
  if (surplus) ++tally_[failure::length];
  if (answered != 0)
    complete(one, answered, keeps_open && !surplus);
  else if (surplus)
    reject(one);
}

void worker::take_echo(connection& one, std::string_view bytes) {
  const std::size_t expected = std::min(bytes.size(), one.echo_left_bytes);
  if (std::memcmp(bytes.data(), outgoing_.at(one.echo_place), expected) != 0)
    one.echo_differs = true;
  one.echo_place += expected;
  one.echo_left_bytes -= expected;
  const bool surplus = expected != bytes.size();
  if (surplus) ++tally_[failure::length];
  if (one.outstanding == 0 || one.echo_left_bytes != 0) {
    if (surplus) reject(one);
    return;
  }
  if (one.echo_differs) ++tally_[failure::content];
  complete(one, 1, !surplus && one.send_left_bytes == 0);
}

void worker::check_response(const connection& one) {
  if (one.reader.status() != 200) {
    ++tally_[failure::status];
    return;
  }
  if (!expected_bytes_) expected_bytes_ = one.reader.body_bytes();
  if (*expected_bytes_ != one.reader.body_bytes()) ++tally_[failure::length];
}

/// Notes the latency of the oldest `count` requests.
void worker::record(connection& one, unsigned count, std::uint64_t now) {
  const std::size_t ring = static_cast<std::size_t>(&one - connections_.data()) * run_.pipeline;
  for (unsigned number = 0; number < count; ++number) {
    const std::uint64_t begun_ns = begun_ns_[ring + one.oldest];
    tally_.latency.add(now - begun_ns);
    if (now <= end_ns_)
      tally_.in_time_ns += now - begun_ns;
    else
      tally_.cut_off_ns += end_ns_ - std::min(begun_ns, end_ns_);
    if (++one.oldest == run_.pipeline) one.oldest = 0;
  }
  tally_.responses += count;
  if (now <= end_ns_) tally_.responses_in_time += count;
  tally_.last_response_ns = now;
  timed_out_ns_ = 0;
  one.waiting_since_ns = now;
  one.outstanding -= count;
  outstanding_ -= count;
  leave_system(count, now);
}

/// `count` responses are whole; `keep` says whether the connection can go on.
void worker::complete(connection& one, unsigned count, bool keep) {
  const std::uint64_t now = now_ns();
  record(one, count, now);
  if (keeps_connections_) {
    if (keep) return next(one, now, count);
    if (one.outstanding != 0) abandon(one, failure::closed, one.outstanding);
    return reject(one);
  }
  if (one.state != link::closing) {
    // The server would keep it. A reset, since a port that waits for a minute after each request
    // would soon leave none for the next.
    const linger reset{1, 0};
    ::setsockopt(one.socket.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  }
  drop(one);
  next(one, now, 1);
}

void worker::ended(connection& one) {
  if (one.state == link::closing) return complete(one, 1, false);
  if (one.outstanding == 0 || !one.reader.complete_at_end()) return lose(one, failure::closed);
  check_response(one);
  one.state = link::closing;
  complete(one, 1, false);
}

/// The connection failed, and with it every request on it.
void worker::lose(connection& one, failure kind, int error) {
  if (error != 0 && tally_.problem.empty())
    tally_.problem =
        std::string(failure_names[static_cast<unsigned>(kind)]) + ": " + std::strerror(error);
  abandon(one, kind, std::max(1u, one.outstanding));
  reject(one);
}

/// Counts `failed` failures, and forgets the requests on the connection.
void worker::abandon(connection& one, failure kind, std::uint64_t failed) {
  tally_[kind] += failed;
  leave_system(one.outstanding, batch_ns_);
  outstanding_ -= one.outstanding;
  one.outstanding = 0;
}

/// Goes on with a new connection in place of this one.
void worker::reject(connection& one) {
  if (start_ns_ == 0) --tally_.connected;
  drop(one);
  if (sends_) reopen(one);
}

void worker::drop(connection& one) {
  if (one.state == link::open || one.state == link::closing) --open_links_;
  one.socket = unique_fd();
  one.state = link::idle;
  one.oldest = 0;
  one.send_place = 0;
  one.send_left_bytes = 0;
  one.echo_left_bytes = 0;
  one.reader.reset();
}

void worker::reopen(connection& one) {
  if (keeps_connections_) return open_socket(one, batch_ns_);
  one.state = link::idle;
  next(one, now_ns(), 1);
}

/// Open mode: `count` of the requests that were due have their response, or never will.
void worker::leave_system(std::uint64_t count, std::uint64_t now) {
  if (run_.paces != mode::open) return;
  in_system_ -= std::min(count, in_system_);
  tally_.request_ns_in_system +=
      static_cast<double>(count) *
      static_cast<double>(std::min(now, end_ns_) - std::min(batch_ns_, end_ns_));
}

}  // namespace heddle::load
