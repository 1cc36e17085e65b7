#include "common/stop_event.hpp"

#include <csignal>

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace peers {
namespace {

sigset_t stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

}  // namespace

void block_stop_signals() {
  const sigset_t signals = stop_signals();
  const int error = ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  if (error != 0) throw std::system_error(error, std::generic_category(), "pthread_sigmask");
  std::signal(SIGPIPE, SIG_IGN);
}

file_descriptor open_stop_event() {
  const sigset_t signals = stop_signals();
  return file_descriptor(checked(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC), "signalfd"));
}

void request_stop() { ::kill(::getpid(), SIGTERM); }

}  // namespace peers
