#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>

#include <explore/engine.hpp>
#include <explore/options.hpp>
#include <explore/quarantine.hpp>
#include <explore/trace.hpp>

#include <heddle/base/assert.hpp>

namespace heddle::explore {

/// Runs a client over and over, each time with other decisions. What the client calls of the model
/// ends up here and in engine.
class explorer final : public engine {
 public:
  using engine::engine;

  /// The one that explores now. Errors: ends the program when there is none.
  static explorer& current() noexcept {
    if (running_explorer() == nullptr) {
      std::fprintf(stderr, "heddle: a model object or thread is used outside of explore()\n");
      std::abort();
    }
    return *running_explorer();
  }
  static bool exists() noexcept { return running_explorer() != nullptr; }

  report run_all(const std::function<void()>& client) {
    const use_of_globals in_use(*this);
    report done;
    if (!options_.replay.empty()) {
      replays_ = true;
      choices_.read_seed(options_.replay, model_name());
    }
    for (;;) {
      const ending how = run_once(client);
      done.steps += steps_;
      ++(redundant_ ? done.redundant : done.executions);
      if (cut_) ++done.cut;
      if (!choices_.deterministic()) {
        throw std::logic_error("explore: the client does not do the same for the same decisions");
      }
      if (how == ending::failed) {
        done.found = describe(client);
        break;
      }
      if (replays_) break;
      if (!exhaustive_) {
        choices_.clear();
      } else if (!choices_.advance()) {
        done.complete = true;
        break;
      }
      if (done.executions + done.redundant >= options_.most_executions) break;
      if (done.steps >= options_.most_steps_in_all) break;
    }
    return done;
  }

  void lock(const tracked& object, std::source_location code) {
    check(object, code);
    before(action::lock, object.index);
    check(object, code);
    take(at(object));
    if (at(object).letter == 'm') at(object).holder = static_cast<int>(running());
    note(
        [&] {
          return (at(object).letter == 'e' ? "woken by " : "locks ") + explore::show(at(object));
        },
        code);
  }

  unsigned index_of_running() const noexcept { return running(); }

  /// A decision of the client.
  unsigned decide(unsigned count) { return choose(count); }

  /// Fails when the mutex is held; and when it was, for all that this thread knows.
  bool try_lock(const tracked& object, std::source_location code) {
    check(object, code);
    before(action::try_lock, object.index);
    check(object, code);
    location& where = at(object);
    const bool known =
        where.unlocked_by < 0 ||
        self().clocks.now.knows(static_cast<unsigned>(where.unlocked_by), where.unlocked_at);
    const bool taken = where.permits > 0 && (known || choose(2) == 0);
    if (taken) {
      take(where);
      where.holder = static_cast<int>(running());
    } else {
      self().clocks.tick();
      touch(where, false);
    }
    note([&] { return (taken ? "locks " : "cannot lock ") + explore::show(where); }, code);
    return taken;
  }

  void unlock(const tracked& object, std::source_location code) {
    check(object, code);
    location& where = at(object);
    if (where.holder != static_cast<int>(running())) fail("unlock by who does not hold it", code);
    where.holder = -1;
    give(where);
    note([&] { return "unlocks " + explore::show(where); }, code);
  }

  /// As unlock, by anybody, and it counts.
  void wake(const tracked& object, std::source_location code) {
    check(object, code);
    location& where = at(object);
    give(where);
    note([&] { return "wakes " + explore::show(where); }, code);
  }

  unsigned spawn(std::function<void()> body, std::source_location code) {
    if (thread_count() == most_threads) fail("a client has at most 8 threads", code);
    count_step();
    self().clocks.tick();
    const unsigned made = add_thread(std::move(body));
    note([&] { return "starts thread " + std::to_string(made); }, code);
    return made;
  }

  void join(unsigned thread, std::source_location code) {
    await_end(thread);
    count_step();
    self().clocks.tick();
    self().clocks.now.join(thread_at(thread).clocks.now);
    note([&] { return "joins thread " + std::to_string(thread); }, code);
  }

 private:
  /// Makes this the current explorer, and takes assertions and freed memory, for one exploration.
  class use_of_globals {
   public:
    explicit use_of_globals(explorer& user) : outer_(std::exchange(running_explorer(), &user)) {
      if (outer_ != nullptr) {
        running_explorer() = outer_;
        throw std::logic_error("explore() is called by a client");
      }
      freed_memory.on = true;
      on_assertion = [](const char* condition, const char* file, int line) {
        current().fail(std::string("assertion failed: ") + condition + " (" + file + ":" +
                           std::to_string(line) + ")",
                       std::source_location{});
      };
    }
    use_of_globals(const use_of_globals&) = delete;
    use_of_globals& operator=(const use_of_globals&) = delete;
    ~use_of_globals() {
      running_explorer() = nullptr;
      on_assertion = nullptr;
      freed_memory.on = false;
      freed_memory.release();
    }

   private:
    explorer* outer_;
  };

  static explorer*& running_explorer() noexcept {
    static constinit explorer* running = nullptr;
    return running;
  }

  static void enter(boost::context::detail::transfer_t transfer) noexcept {
    context::entered(transfer, current().flow_of_running());
    current().loop();
  }

  const char* model_name() const noexcept { return options_.model == memory::sc ? "sc" : "c11"; }

  ending run_once(const std::function<void()>& client) {
    begin_execution();
    const ending how = run([&client] { client(); }, enter);
    freed_memory.release();
    return how;
  }

  /// Runs the failed execution again and writes it down.
  failure describe(const std::function<void()>& client) {
    failure told;
    told.what = failed_;
    told.seed = choices_.seed(model_name());
    trace steps;
    traced_ = &steps;
    choices_.read_seed(told.seed, model_name());
    replays_ = true;
    if (run_once(client) != ending::failed || failed_ != told.what) {
      throw std::logic_error("explore: the failure could not be repeated: " + told.what);
    }
    traced_ = nullptr;
    told.trace = steps.show();
    return told;
  }

  void give(location& where) {
    count_step();
    self().clocks.tick();
    ++where.permits;
    where.released.join(self().clocks.now);
    where.unlocked_by = static_cast<int>(running());
    where.unlocked_at = self().clocks.time();
    touch(where, true);
  }

  void take(location& where) {
    self().clocks.tick();
    self().clocks.now.join(where.released);
    --where.permits;
    touch(where, true);
  }

  void run_body(std::function<void()>& body) override {
    std::string thrown;
    try {
      body();
    } catch (const std::exception& error) {
      thrown = std::string("an exception left thread ") + std::to_string(running()) + ": " +
               error.what();
    } catch (...) {
      thrown = "an exception left thread " + std::to_string(running());
    }
    const std::source_location nowhere{};
    if (!thrown.empty()) fail(thrown, nowhere);
    note([] { return std::string("ends"); }, nowhere);
    if (running() != 0) return;
    for (unsigned thread = 1; thread < thread_count(); ++thread) join(thread, nowhere);
    check_leaks();
  }

  void deadlock() override {
    std::string waiting = "deadlock:";
    for (unsigned index = 0; index < thread_count(); ++index) {
      const model_thread& thread = thread_at(index);
      if (thread.finished) continue;
      waiting += " thread " + std::to_string(index) + " waits for ";
      waiting += thread.next == action::join ? "thread " + std::to_string(thread.joined)
                                             : explore::show(location_at(thread.where));
      waiting += ";";
    }
    waiting.pop_back();
    fail(waiting, std::source_location{});
  }
};

}  // namespace heddle::explore
