#include <algorithm>

#include "worker.hpp"
#include <heddle/base/clock.hpp>

namespace heddle::load {
namespace {

constexpr std::uint64_t most_requests_at_once = 32;

}  // namespace

/// Brings the integral of the number of requests in the system up to this batch.
void worker::count_arrivals() {
  const std::uint64_t now_ns = std::min(batch_ns_, end_ns_);
  const std::uint64_t before_ns = std::max(last_count_ns_, start_ns_);
  tally_.request_ns_in_system +=
      static_cast<double>(in_system_) * static_cast<double>(now_ns - std::min(before_ns, now_ns));
  last_count_ns_ = now_ns;
  while (!exhausted_ && counted_.due_ns() <= now_ns && counted_.due_ns() < end_ns_) {
    ++in_system_;
    tally_.request_ns_in_system += static_cast<double>(now_ns - counted_.due_ns());
    counted_.advance();
  }
}

/// The time is over: requests without a response have failed, and count with the age they reached.
void worker::settle() {
  const auto give_up = [this](std::uint64_t begun_ns) {
    ++tally_.unanswered;
    ++tally_[failure::timeout];
    tally_.latency.add(batch_ns_ - std::min(begun_ns, batch_ns_));
    tally_.cut_off_ns += std::min(end_ns_, batch_ns_) - std::min(begun_ns, end_ns_);
  };
  for (std::size_t at = 0; at < connections_.size(); ++at) {
    const connection& one = connections_[at];
    for (std::uint32_t number = 0; number < one.outstanding; ++number)
      give_up(begun_ns_[at * run_.pipeline + (one.oldest + number) % run_.pipeline]);
  }
  if (run_.paces == mode::think)
    while (!queue_.empty()) retire(due_ns_[queue_.pop()] - think_ns_, 1);
  if (run_.paces != mode::open) return;
  for (; !exhausted_ && schedule_.due_ns() < end_ns_ && run_.requests == 0; schedule_.advance()) {
    ++tally_.requests;
    tally_.send_lag.add(batch_ns_ - std::min(schedule_.due_ns(), batch_ns_));
    give_up(schedule_.due_ns());
  }
}

/// `places` for a request stay empty from now on.
void worker::retire(std::uint64_t now, unsigned places) {
  if (now > end_ns_) return;
  tally_.retired += places;
  if (now > start_ns_)
    tally_.retired_after_ns += static_cast<double>(places) * static_cast<double>(now - start_ns_);
}

/// Whether one more request may begin; takes it.
bool worker::take_request() {
  if (run_.requests == 0) return sends_ || run_.paces == mode::open;
  if (taken_ == 0 && !exhausted_) {
    // Few, so that the threads end together.
    taken_ = state_.take_requests(
        std::clamp<std::uint64_t>(connections_.size() / 4, 1, most_requests_at_once));
    exhausted_ = taken_ == 0;
  }
  if (exhausted_) return false;
  --taken_;
  return true;
}

/// A connection is free for `count` requests more, at time `now`.
void worker::next(connection& one, std::uint64_t now, unsigned count) {
  if (run_.paces == mode::closed) {
    unsigned taken = 0;
    while (taken < count && take_request()) ++taken;
    if (taken < count) retire(now, count - taken);
    if (taken == 0) return;
    tally_.send_lag.add(now - std::min(batch_ns_, now));
    return begin(one, now, now, taken);
  }
  if (one.queued) return;
  const auto at = static_cast<std::uint32_t>(&one - connections_.data());
  due_ns_[at] = now + think_ns_;
  one.queued = true;
  queue_.push(at);
  start_due(now);
}

bool worker::usable(const connection& one) const {
  return one.state == link::open || (!keeps_connections_ && one.state == link::idle);
}

/// Begins what is due: at the end of a pause, or by the schedule on the connection that has been
/// free for longest.
void worker::start_due(std::uint64_t now) {
  const bool open = run_.paces == mode::open;
  while (!queue_.empty() && !exhausted_) {
    const std::uint64_t due_ns = open ? schedule_.due_ns() : due_ns_[queue_.front()];
    if (due_ns > now || (open ? due_ns >= end_ns_ : !sends_)) return;
    connection& one = connections_[queue_.pop()];
    one.queued = false;
    if (!usable(one)) continue;  // it is queued again when it is open
    if (!take_request()) {
      if (!open) retire(due_ns - think_ns_, 1);
      return;
    }
    now = now_ns();
    tally_.send_lag.add(now - due_ns);
    if (open) {
      schedule_.advance();
    } else if (due_ns >= start_ns_ + think_ns_) {
      ++tally_.pauses;
      tally_.pauses_ns += now - (due_ns - think_ns_);
    } else {
      tally_.cut_off_ns += now - start_ns_;
    }
    begin(one, open ? due_ns : now, now, 1);
  }
}

}  // namespace heddle::load
