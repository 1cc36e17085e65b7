#include "run.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <deque>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <poll.h>
#include <sys/signalfd.h>

#include "worker.hpp"
#include <heddle/base/clock.hpp>

namespace heddle::load {
namespace {

/// Blocks the signals that end a run, for this thread and those it starts; readable when one came.
unique_fd blocked_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  unique_fd event(::signalfd(-1, &signals, SFD_CLOEXEC));
  if (!event) throw std::runtime_error("signalfd: no descriptor left");
  return event;
}

/// Waits until `ended` counted every worker; a signal stops the run first.
void wait_for(std::size_t workers, int ended, int signals, run_state& state) {
  pollfd watched[] = {{ended, POLLIN, 0}, {signals, POLLIN, 0}};
  while (workers != 0) {
    if (::poll(watched, 2, -1) < 0 && errno != EINTR) throw std::runtime_error("poll");
    eventfd_t count = 0;
    if ((watched[0].revents & POLLIN) != 0 && ::eventfd_read(ended, &count) == 0)
      workers -= std::min<std::size_t>(count, workers);
    if ((watched[1].revents & POLLIN) != 0) {
      state.stop(ending::signal);
      watched[1].fd = -1;
    }
  }
}

}  // namespace

outcome run_load(const options& run) {
  const unique_fd signals = blocked_signals();
  const unique_fd ended(::eventfd(0, EFD_CLOEXEC));
  if (!ended) throw std::runtime_error("eventfd: no descriptor left");
  run_state state(run);
  std::deque<worker> workers;
  for (unsigned number = 0; number < run.threads; ++number)
    workers.emplace_back(
        run, state, number,
        run.connections / run.threads + (number < run.connections % run.threads ? 1 : 0));

  // The last thread that is connected starts the clock for all.
  start_barrier everyone(run.threads, [&] {
    const bool connects_later = run.speaks == protocol::http_close;
    // relaxed: the barrier orders the additions before this.
    const bool complete = state.connected.load(std::memory_order_relaxed) == run.connections;
    if (!connects_later && !complete) state.stop(ending::not_connected);
    if (state.stopped() == ending::none) state.start_ns = now_ns();
  });
  std::vector<std::jthread> threads;
  try {
    for (worker& one : workers) {
      threads.emplace_back([&one, &everyone, &ended] {
        one.run(everyone);
        ::eventfd_write(ended.get(), 1);
      });
    }
  } catch (const std::system_error&) {
    state.stop(ending::failed);
    for (std::size_t missing = threads.size(); missing < workers.size(); ++missing)
      everyone.arrive_and_drop();
    throw;
  }
  wait_for(workers.size(), ended.get(), signals.get(), state);
  const std::uint64_t end_ns = now_ns();
  threads.clear();

  outcome result;
  for (const worker& one : workers) result.total.add(one.result());
  result.how = state.stopped() == ending::none ? ending::planned : state.stopped();
  if (state.start_ns == 0) return result;
  const bool by_requests = run.requests != 0 && result.how == ending::planned;
  const std::uint64_t last_ns =
      by_requests ? std::max(result.total.last_response_ns, state.start_ns) : end_ns;
  result.duration_s = static_cast<double>(last_ns - state.start_ns) * 1e-9;
  if (run.requests == 0) result.duration_s = std::min(result.duration_s, run.duration_s);
  return result;
}

}  // namespace heddle::load
