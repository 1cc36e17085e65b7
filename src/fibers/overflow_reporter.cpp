#include <cstring>
#include <mutex>

#include <signal.h>
#include <unistd.h>

#include <heddle/fibers/fiber_pool.hpp>

namespace heddle {
namespace {

constexpr std::size_t signal_stack_bytes = 64 * 1024;

struct sigaction previous_segv;
struct sigaction previous_bus;

/// Async-signal-safe text output.
void write_text(const char* text) noexcept {
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

void write_number(std::uint64_t number) noexcept {
  char digits[24];
  char* at = digits + sizeof digits;
  *--at = '\0';
  do *--at = static_cast<char>('0' + number % 10);
  while ((number /= 10) != 0);
  write_text(at);
}

void on_fault(int signal, siginfo_t* info, void* machine_context) {
  if (const fiber* victim = fiber_pool::guarded_by(info->si_addr)) {
    write_text("heddle: stack overflow in fiber ");
    write_number(victim->id);
    if (const char* name = victim->name.load(std::memory_order_relaxed)) {
      write_text(" (");
      write_text(name);
      write_text(")");
    }
    write_text("; a larger stack is set by runtime_options::stack_bytes\n");
  }
  // Hand over to whoever was here before. The default action ends the process when the faulting
  // instruction runs again.
  const struct sigaction& previous = signal == SIGSEGV ? previous_segv : previous_bus;
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, machine_context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    ::signal(signal, SIG_DFL);
  }
}

}  // namespace

overflow_reporter::overflow_reporter() {
  static std::once_flag installed;
  std::call_once(installed, [] {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &previous_segv);
    sigaction(SIGBUS, &action, &previous_bus);
  });
  stack_t current;
  sigaltstack(nullptr, &current);
  if ((current.ss_flags & SS_DISABLE) == 0) return;  // the thread has one already, as under ASan
  signal_stack_ = std::make_unique<char[]>(signal_stack_bytes);
  stack_t stack{};
  stack.ss_sp = signal_stack_.get();
  stack.ss_size = signal_stack_bytes;
  sigaltstack(&stack, nullptr);
}

overflow_reporter::~overflow_reporter() {
  if (signal_stack_ == nullptr) return;
  stack_t off{};
  off.ss_flags = SS_DISABLE;
  sigaltstack(&off, nullptr);
}

}  // namespace heddle
