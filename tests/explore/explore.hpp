#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <source_location>
#include <string>
#include <utility>

#include <explore/explorer.hpp>
#include <explore/model.hpp>
#include <explore/options.hpp>

#if defined(HEDDLE_ASAN)
#include <sanitizer/lsan_interface.h>
#endif

namespace heddle::explore {

/// A thread of a client. Joins in its destructor.
class thread {
 public:
  template <class F>
  explicit thread(F body, code where = code::current())
      : index_(explorer::current().spawn(std::move(body), where)), where_(where) {}
  thread(const thread&) = delete;
  thread& operator=(const thread&) = delete;
  ~thread() { join(where_); }

  void join(code where = code::current()) {
    if (joined_) return;
    explorer::current().join(index_, where);
    joined_ = true;
  }

 private:
  unsigned index_;
  code where_;
  bool joined_ = false;
};

/// In a client: the execution has failed unless this holds.
inline void require(bool holds, const char* what, code where = code::current()) {
  explorer::current().require(holds, what, where);
}

/// In a client: a number below `count`; every one is tried.
inline unsigned any_below(unsigned count) { return explorer::current().decide(count); }

/// One line: how many executions there were, and what they came to.
inline std::string summary(const report& done) {
  return std::to_string(done.executions) + " executions, " + std::to_string(done.cut) + " cut, " +
         std::to_string(done.redundant) + " redundant, " + std::to_string(done.steps) + " steps" +
         (done.complete ? ", complete" : "") +
         (done.found ? "\n  " + done.found->what + "\n  seed " + done.found->seed : "");
}

/// Runs `client` again and again, as model thread 0, each time with another interleaving and other
/// values for its loads; stops at the first failure. The client makes what it shares anew each
/// time, and behaves the same whenever the model does. An execution that fails is left in the
/// middle: what it has on its stacks is not destroyed.
/// Errors: std::logic_error when the client is not deterministic.
inline report explore(options wanted, const std::function<void()>& client) {
  if (wanted.replay.empty()) {
    if (const char* const seed = std::getenv("HEDDLE_REPLAY")) wanted.replay = seed;
  }
  const std::string name = wanted.name;
#if defined(HEDDLE_ASAN)
  const __lsan::ScopedDisabler given_up_executions_leak;
#endif
  report done;
  {
    explorer explorer(std::move(wanted));
    done = explorer.run_all(client);
  }
  if (!name.empty()) std::printf("explore %s: %s\n", name.c_str(), summary(done).c_str());
  return done;
}

}  // namespace heddle::explore
