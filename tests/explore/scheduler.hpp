#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include <explore/choices.hpp>
#include <explore/fibers.hpp>
#include <explore/location.hpp>
#include <explore/model_thread.hpp>
#include <explore/options.hpp>
#include <explore/pct_priorities.hpp>

namespace heddle::explore {

/// Who of the model threads runs.
///
/// Steps that commute with all that others may do run at once: in c11 a store, since a load that
/// comes after it may still read what was there before, and a store after it may take a place
/// before it. What is left to decide is who goes first of the threads that stand before a load, an
/// update or a lock. A thread whose step was explored from here sleeps while the others are tried,
/// until a step that its own depends on; a load or update then reads only what is new since.
class scheduler {
 public:
  explicit scheduler(const options& wanted)
      : options_(wanted),
        exhaustive_(wanted.search == strategy::exhaustive),
        sleeps_(exhaustive_ && wanted.reduction && wanted.preemption_bound < 0),
        commutes_(wanted.model == memory::c11 && wanted.reduction),
        random_(wanted.seed),
        priorities_(wanted.pct_depth) {}
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;
  virtual ~scheduler() = default;

 protected:
  enum class ending { finished, failed, given_up };

  model_thread& self() noexcept { return threads_[running_]; }
  unsigned running() const noexcept { return running_; }
  unsigned thread_count() const noexcept { return count_; }
  const model_thread& thread_at(unsigned index) const noexcept { return threads_[index]; }

  /// Runs one execution of `client`.
  ending run(const std::function<void()>& client, context::entry_point entry) {
    entry_ = entry;
    count_ = 1;
    running_ = current_ = 0;
    preemptions_ = 0;
    steps_ = nodes_ = writes_ = stamp_ = 0;
    free_ = redundant_ = cut_ = false;
    choices_.rewind();
    threads_[0].begin(0, client);
    if (!exhaustive_) priorities_.draw(random_, std::max<std::uint64_t>(longest_, 10));
    fibers_.switch_to(fibers::main, 0, entry_);
    if (ending_ != ending::finished) {
      for (unsigned index = 0; index < count_; ++index) {
        if (!threads_[index].finished || index == running_) fibers_.abandon(index);
      }
    }
    longest_ = std::max(longest_, nodes_);
    return ending_;
  }

  /// Before each step of the running thread: returns when it may be done.
  void before(action next, std::uint32_t where) {
    model_thread& thread = self();
    thread.next = next;
    thread.where = where;
    thread.fresh = 0;
    count_step();
    const bool orders_nothing = options_.reduction && next == action::fence;
    if (orders_nothing || (commutes_ && next == action::store)) return;
    hand_over();
  }

  /// A step that nobody else can see the place of.
  void count_step() noexcept {
    if (++steps_ > options_.most_steps && !free_) cut();
  }

  /// The running thread waits until `thread` has finished.
  void await_end(unsigned thread) {
    self().joined = thread;
    if (threads_[thread].finished) return;
    before(action::join, 0);
  }

  /// The running thread has looked in vain: it waits until others have written since its last look
  /// began.
  void await_write() {
    model_thread& thread = self();
    thread.trail.clear();
    thread.wanted = thread.seen_writes;
    if (writes_of_others(thread) <= thread.wanted) before(action::pause, 0);
    thread.seen_writes = writes_of_others(thread);
  }

  unsigned add_thread(std::function<void()> body) {
    const unsigned added = count_++;
    threads_[added].begin(added, std::move(body));
    threads_[added].clocks.now = self().clocks.now;
    return added;
  }

  /// On the thread's own stack, over and over: runs a body and goes on elsewhere.
  [[noreturn]] void loop() {
    for (;;) {
      run_body(self().body);
      self().finished = true;
      note_write();
      const unsigned from = running_;
      const unsigned next = pick();
      running_ = next == fibers::main ? from : next;
      fibers_.switch_to(from, next, entry_);
    }
  }

  context& flow_of_running() noexcept { return fibers_.flow(running_); }

  void note_write() noexcept {
    ++self().own_writes;
    ++writes_;
  }

  std::uint32_t choose(std::uint32_t count) {
    if (count == 1 || free_) return 0;
    return choices_.choose(count, exhaustive_ || replays_ ? 0 : random_.below(count));
  }

  /// What is left of this execution was explored before, or never ends. It runs on by itself, so
  /// that the client's objects are destroyed, and no longer counts.
  void cut() noexcept { run_freely(cut_); }
  void give_up_as_redundant() noexcept { run_freely(redundant_); }

  /// Leaves the execution from a model thread's stack.
  [[noreturn]] void leave(ending how) {
    ending_ = how;
    fibers_.switch_to(running_, fibers::main, entry_);
    std::terminate();  // abandoned stacks are not continued
  }

  virtual void run_body(std::function<void()>& body) = 0;
  virtual const location& location_at(std::uint32_t index) const = 0;
  [[noreturn]] virtual void deadlock() = 0;

  const options options_;
  const bool exhaustive_;
  bool replays_ = false;
  choices choices_;
  std::uint64_t steps_ = 0;
  std::uint64_t stamp_ = 0;
  bool free_ = false;
  bool redundant_ = false;
  bool cut_ = false;

 private:
  static constexpr std::uint64_t most_free_steps = 2'000;

  void run_freely(bool& reason) noexcept {
    if (free_) return;
    free_ = reason = true;
    free_steps_ = 0;
  }

  void hand_over() {
    const unsigned next = pick();
    if (next == running_) return;
    const unsigned from = running_;
    running_ = next;
    fibers_.switch_to(from, next, entry_);
  }

  std::uint64_t writes_of_others(const model_thread& thread) const noexcept {
    return writes_ - thread.own_writes;
  }

  bool enabled(const model_thread& thread) const {
    switch (thread.next) {
      case action::join:
        return threads_[thread.joined].finished;
      case action::pause:
        return writes_of_others(thread) > thread.wanted;
      case action::lock:
        return location_at(thread.where).permits > 0;
      default:
        return true;
    }
  }

  /// Who runs next; fibers::main when all have finished.
  unsigned pick() {
    if (free_) return pick_freely();
    std::array<unsigned, most_threads> found;
    std::uint32_t size = 0;
    bool asleep = false;
    for (unsigned offset = 0; offset < count_; ++offset) {
      // The one that ran last comes first, so that the first choice switches least.
      const unsigned index = offset == 0 ? current_ : offset <= current_ ? offset - 1 : offset;
      const model_thread& thread = threads_[index];
      if (thread.finished || !enabled(thread)) continue;
      if (thread.next == action::start || thread.next == action::join ||
          thread.next == action::pause) {
        return index;  // nobody else is affected
      }
      if (thread.asleep && !thread.woken(location_at(thread.where), options_.model)) {
        asleep = true;
      } else {
        found[size++] = index;
      }
    }
    if (size == 0) return nobody_can_go_on(asleep);
    return decide(found, size);
  }

  unsigned decide(const std::array<unsigned, most_threads>& found, std::uint32_t size) {
    ++nodes_;
    const bool goes_on = found[0] == current_;
    if (goes_on && preemptions_ == options_.preemption_bound) size = 1;
    const std::uint32_t chosen =
        size == 1 ? 0 : choices_.choose(size, exhaustive_ || replays_ ? 0 : drawn(found, size));
    if (chosen != 0 && goes_on) ++preemptions_;
    for (std::uint32_t index = 0; sleeps_ && index < chosen; ++index) {
      threads_[found[index]].fall_asleep(stamp_);
    }
    current_ = found[chosen];
    threads_[current_].get_up(options_.model);
    return current_;
  }

  unsigned nobody_can_go_on(bool asleep) {
    bool finished = true;
    bool spins = false;
    for (unsigned index = 0; index < count_; ++index) {
      finished = finished && threads_[index].finished;
      spins = spins || (!threads_[index].finished && threads_[index].next == action::pause);
    }
    if (finished) {
      ending_ = ending::finished;
      return fibers::main;
    }
    if (asleep) {
      give_up_as_redundant();
    } else if (spins) {
      cut();
    } else {
      deadlock();
    }
    return pick_freely();
  }

  /// In turn.
  unsigned pick_freely() {
    bool finished = true;
    if (++free_steps_ <= most_free_steps) {
      for (unsigned offset = 1; offset <= count_; ++offset) {
        const unsigned index = (running_ + offset) % count_;
        const model_thread& thread = threads_[index];
        if (thread.finished) continue;
        finished = false;
        if (thread.next == action::pause || enabled(thread)) return index;
      }
      if (finished) {
        ending_ = ending::finished;
        return fibers::main;
      }
    }
    leave(ending::given_up);
  }

  std::uint32_t drawn(const std::array<unsigned, most_threads>& found, std::uint32_t size) {
    if (options_.model != memory::sc) return random_.below(size);
    return priorities_.highest(found.data(), size, current_, nodes_);
  }

  const bool sleeps_;
  const bool commutes_;
  random_source random_;
  pct_priorities priorities_;
  fibers fibers_;
  context::entry_point entry_ = nullptr;
  std::array<model_thread, most_threads> threads_;
  unsigned count_ = 0;
  unsigned running_ = 0;
  unsigned current_ = 0;  ///< who did the last step that was a choice
  int preemptions_ = 0;
  std::uint64_t nodes_ = 0;
  std::uint64_t longest_ = 0;
  std::uint64_t writes_ = 0;
  std::uint64_t free_steps_ = 0;
  ending ending_ = ending::finished;
};

}  // namespace heddle::explore
