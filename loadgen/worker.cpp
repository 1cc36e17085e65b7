#include "worker.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <stdexcept>

#include <sys/prctl.h>

#include "thread_cost.hpp"
#include <heddle/base/clock.hpp>

namespace heddle::load {
namespace {

constexpr std::uint64_t ns_per_s = 1'000'000'000;
constexpr std::uint64_t house_period_ns = 50'000'000;
constexpr std::uint64_t gone_after_ns = 500'000'000;
constexpr std::size_t buffer_bytes = 64 * 1024;
constexpr std::size_t most_events = 1024;
constexpr unsigned connecting_at_once = 64;  // less than any server's backlog
constexpr std::uint32_t stop_event_number = ~std::uint32_t{0};

std::uint64_t ns_of(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }

}  // namespace

worker::worker(const options& run, run_state& state, unsigned number, unsigned connections)
    : run_(run),
      state_(state),
      keeps_connections_(run.speaks != protocol::http_close),
      think_ns_(ns_of(run.think_us * 1e-6)),
      timeout_ns_(ns_of(run.timeout_s)),
      outgoing_(run),
      connections_(connections),
      begun_ns_(std::size_t{connections} * run.pipeline),
      buffer_(buffer_bytes),
      events_(std::min(most_events, std::size_t{connections} + 1)),
      poller_(::epoll_create1(EPOLL_CLOEXEC)),
      queue_(connections),
      due_ns_(connections),
      schedule_(run.arrivals, run.paces == mode::open ? run.rate_rps : 1, number, run.threads,
                run.seed),
      counted_(schedule_),
      expected_bytes_(run.expected_bytes) {
  epoll_event event{EPOLLIN, {.u64 = stop_event_number}};
  if (!poller_ || ::epoll_ctl(poller_.get(), EPOLL_CTL_ADD, state.stop_event(), &event) != 0)
    throw std::runtime_error(std::string("epoll: ") + std::strerror(errno));
}

void worker::run(start_barrier& everyone) noexcept {
  bool waited = false;
  try {
    ::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);  // ns; pauses are to be as long as asked for
    if (keeps_connections_) connect_all();
    state_.connected.fetch_add(tally_.connected, std::memory_order_relaxed);  // the barrier orders
    waited = true;
    everyone.arrive_and_wait();
    if (state_.start_ns != 0) load();
  } catch (const std::exception& error) {
    tally_.problem = error.what();
    state_.stop(ending::failed);
    if (!waited) everyone.arrive_and_drop();
  }
}

void worker::connect_all() {
  const std::uint64_t give_up_ns = now_ns() + timeout_ns_;
  std::size_t begun = 0;
  while (tally_.failed() == 0 && tally_.connected < connections_.size()) {
    batch_ns_ = now_ns();
    while (begun < connections_.size() && begun - tally_.connected < connecting_at_once)
      open_socket(connections_[begun++], batch_ns_);
    if (state_.stopped() != ending::none) return;
    if (batch_ns_ >= give_up_ns) {
      tally_[failure::connect] += begun - tally_.connected;
      tally_.problem = "connect: no answer";
      return;
    }
    wait(give_up_ns);
    handle_batch();
  }
}

void worker::load() {
  start_ns_ = state_.start_ns;
  end_ns_ = run_.requests != 0 ? never_ns : start_ns_ + ns_of(run_.duration_s);
  drain_end_ns_ = never_ns;
  schedule_.start(start_ns_);
  counted_.start(start_ns_);
  sends_ = true;
  thread_cost cost;
  batch_ns_ = now_ns();
  house_ns_ = batch_ns_ + house_period_ns;
  begin_requests();
  while (!finished()) {
    wait(next_wake_ns());
    if (run_.paces == mode::open) count_arrivals();
    handle_batch();
    start_due(batch_ns_);
    if (batch_ns_ >= house_ns_) keep_house();
  }
  cost.add_to(tally_);
}

/// Pauses are spread over their length, so that connections do not begin in step.
void worker::begin_requests() {
  for (std::uint32_t at = 0; at < connections_.size(); ++at) {
    connection& one = connections_[at];
    if (run_.paces == mode::closed) {
      unsigned count = 0;
      while (count < run_.pipeline && take_request()) ++count;
      const std::uint64_t now = now_ns();
      tally_.cut_off_ns += (now - start_ns_) * run_.pipeline;  // this thread may have begun late
      if (count < run_.pipeline) retire(now, run_.pipeline - count);
      if (count != 0) begin(one, now, now, count);
      continue;
    }
    due_ns_[at] = start_ns_ + think_ns_ * at / connections_.size();
    one.queued = true;
    queue_.push(at);
  }
}

void worker::wait(std::uint64_t until_ns) {
  const std::uint64_t before_ns = now_ns();
  const std::uint64_t left_ns = until_ns > before_ns ? until_ns - before_ns : 0;
  const timespec limit{static_cast<time_t>(left_ns / ns_per_s),
                       static_cast<long>(left_ns % ns_per_s)};
  const int count = ::epoll_pwait2(poller_.get(), events_.data(), static_cast<int>(events_.size()),
                                   &limit, nullptr);
  if (count < 0 && errno != EINTR)
    throw std::runtime_error(std::string("epoll_pwait2: ") + std::strerror(errno));
  ready_events_ = static_cast<std::size_t>(std::max(count, 0));
  batch_ns_ = now_ns();
}

void worker::handle_batch() {
  for (const epoll_event& event : std::span(events_).first(ready_events_)) {
    const auto at = static_cast<std::uint32_t>(event.data.u64);
    if (at == stop_event_number) continue;  // finished() looks
    connection& one = connections_[at];
    if (one.generation == event.data.u64 >> 32) handle(one, event.events);
  }
}

bool worker::finished() {
  if (state_.stopped() != ending::none) return true;
  if (sends_ && batch_ns_ >= end_ns_) {
    sends_ = false;
    drain_end_ns_ = end_ns_ + ns_of(run_.drain_s);
  }
  const bool waits_for_more =
      run_.paces == mode::open && !exhausted_ && schedule_.due_ns() < end_ns_;
  const bool can_send = open_links_ != 0 || !keeps_connections_;
  if ((!sends_ || exhausted_) && outstanding_ == 0 && !(waits_for_more && can_send))
    return settle(), true;
  if (batch_ns_ < drain_end_ns_) return false;
  return settle(), true;
}

std::uint64_t worker::next_wake_ns() const {
  std::uint64_t wake_ns = std::min(house_ns_, sends_ ? end_ns_ : drain_end_ns_);
  if (exhausted_ || queue_.empty()) return wake_ns;
  if (run_.paces == mode::think && sends_) return std::min(wake_ns, due_ns_[queue_.front()]);
  if (run_.paces == mode::open && schedule_.due_ns() < end_ns_)
    return std::min(wake_ns, schedule_.due_ns());
  return wake_ns;
}

/// Every 50 ms: tries again what could not be opened, fails what takes too long, and ends the run
/// when the server is not coming back.
void worker::keep_house() {
  house_ns_ = batch_ns_ + house_period_ns;
  const std::uint64_t failed_before = tally_[failure::timeout];
  for (connection& one : connections_) {
    const bool waits = one.outstanding != 0 || one.state == link::connecting;
    if (waits && batch_ns_ - std::min(batch_ns_, one.waiting_since_ns) > timeout_ns_) {
      lose(one, failure::timeout);
    } else if (one.state == link::down && sends_) {
      reopen(one);
    }
  }
  if (failing_since_ns_ != 0 && open_links_ == 0 && batch_ns_ - failing_since_ns_ > gone_after_ns)
    state_.stop(ending::server_gone);
  if (tally_[failure::timeout] == failed_before) return;
  // Those of one time share their fate; a later one had a connection of its own.
  if (timed_out_ns_ != 0 && batch_ns_ - timed_out_ns_ >= timeout_ns_)
    state_.stop(ending::no_response);
  if (timed_out_ns_ == 0) timed_out_ns_ = batch_ns_;
}

}  // namespace heddle::load
