#pragma once

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <sys/epoll.h>

#include "arrivals.hpp"
#include "connection.hpp"
#include "options.hpp"
#include "outgoing.hpp"
#include "ring.hpp"
#include "run_state.hpp"
#include "tally.hpp"

namespace heddle::load {

using start_barrier = std::barrier<std::function<void()>>;

/// One thread of the generator and its connections, on an edge-triggered epoll of its own.
///
/// A request costs one send and one receive, and nothing is allocated. The clock is read once when
/// a response is complete, which in closed mode is also when the next request begins; a request
/// that a timer or the schedule starts reads it once more. So a latency contains the time to read
/// the response out of the socket and take it apart, about 0.1 us. One more reading in each batch
/// of events says how long its events have been waiting at most for their turn: the send lag of
/// closed mode.
///
/// Threads: constructed by any, run() and everything else by one.
class worker {
 public:
  /// `connections` of those of the run are this thread's, `number` counts the threads from 0.
  worker(const options& run, run_state& state, unsigned number, unsigned connections);

  /// Opens the connections, waits at the barrier for the other threads, and sends requests until
  /// the run ends. Whatever goes wrong is in the tally. Never throws.
  void run(start_barrier& everyone) noexcept;

  const tally& result() const { return tally_; }

 private:
  using link = connection::link;

  // worker.cpp: the course of the run
  void connect_all();
  void load();
  void begin_requests();
  void wait(std::uint64_t until_ns);
  void handle_batch();
  bool finished();
  std::uint64_t next_wake_ns() const;
  void keep_house();

  // worker_pace.cpp: when requests begin, and what of the time they account for
  void count_arrivals();
  void settle();
  void retire(std::uint64_t now, unsigned places);
  bool take_request();
  void next(connection& one, std::uint64_t now, unsigned count);
  void start_due(std::uint64_t now);
  bool usable(const connection& one) const;

  // worker_io.cpp: what happens on connections
  void open_socket(connection& one, std::uint64_t now);
  void handle(connection& one, std::uint32_t events);
  void connected(connection& one);
  void connect_failed(connection& one, int error);
  void begin(connection& one, std::uint64_t begun_ns, std::uint64_t now, unsigned count);
  void flush(connection& one);
  void receive(connection& one, bool to_the_end);
  void take(connection& one, std::string_view bytes);
  void take_http(connection& one, std::string_view bytes);
  void take_echo(connection& one, std::string_view bytes);
  void check_response(const connection& one);
  void record(connection& one, unsigned count, std::uint64_t now);
  void complete(connection& one, unsigned count, bool keep);
  void ended(connection& one);
  void lose(connection& one, failure kind, int error = 0);
  void abandon(connection& one, failure kind, std::uint64_t failed);
  void reject(connection& one);
  void drop(connection& one);
  void reopen(connection& one);
  void leave_system(std::uint64_t count, std::uint64_t now);

  const options& run_;
  run_state& state_;
  const bool keeps_connections_;
  const std::uint64_t think_ns_;
  const std::uint64_t timeout_ns_;

  outgoing outgoing_;
  std::vector<connection> connections_;
  std::vector<std::uint64_t> begun_ns_;  // for each connection a ring of `pipeline` begin times
  std::vector<char> buffer_;
  std::vector<epoll_event> events_;
  std::size_t ready_events_ = 0;
  unique_fd poller_;

  ring<std::uint32_t> queue_;          // open: free connections; think: those that pause
  std::vector<std::uint64_t> due_ns_;  // think: by connection, when its pause ends
  arrivals schedule_;                  // open: the next request to send
  arrivals counted_;                   // open: the same schedule, as it comes due
  std::uint64_t in_system_ = 0;        // open: due, but unanswered
  std::uint64_t last_count_ns_ = 0;

  bool sends_ = false;      // before the end, and there is something left to begin
  bool exhausted_ = false;  // all requests of the run are taken
  std::uint64_t taken_ = 0;
  std::uint64_t outstanding_ = 0;
  std::uint64_t open_links_ = 0;
  std::uint64_t batch_ns_ = 0;  // when the current batch of events was fetched
  std::uint64_t start_ns_ = 0;
  std::uint64_t end_ns_ = 0;
  std::uint64_t drain_end_ns_ = 0;
  std::uint64_t house_ns_ = 0;
  std::uint64_t failing_since_ns_ = 0;  // 0: the last attempt to connect succeeded
  std::uint64_t timed_out_ns_ = 0;      // the first time-out since the last response; 0: none
  std::optional<std::uint64_t> expected_bytes_;
  tally tally_;
};

}  // namespace heddle::load
