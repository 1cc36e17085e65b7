#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <semaphore>
#include <utility>

#include "counting.hpp"
#include "cycles.hpp"
#include "items.hpp"
#include "options.hpp"
#include "result.hpp"
#include "rules.hpp"
#include <heddle/base/cache_line.hpp>
#include <heddle/base/platform.hpp>
#include <heddle/queues/queue_traits.hpp>

namespace heddle::bench {

enum class phase { warm_up, measure, stop };

/// What the threads of one run share.
struct run_state {
  const options& asked;
  const cycle_clock& clock;
  const thinker& think;
  item_depot depot;
  /// Written by the main thread only. A run of so many operations stays in warm_up, and its threads
  /// change over by themselves. relaxed everywhere: it orders nothing, joining the threads does.
  alignas(cache_line_bytes) std::atomic<phase> now{phase::warm_up};
  /// owner-thieves: how far the owner is, so that thieves can keep to their share. relaxed, too.
  alignas(cache_line_bytes) std::atomic<std::uint64_t> owner_pushes{0};

  /// Released once by each thread that begins to measure: one that was not running when the phase
  /// changed comes late, and must not be measured for less time.
  std::counting_semaphore<> measuring{0};

  bool by_operations() const { return asked.operations != 0; }
  bool stopped() const { return now.load(std::memory_order_relaxed) == phase::stop; }
};

/// Pseudo-random numbers at the cost of a few instructions: G. Marsaglia, "Xorshift RNGs", 2003.
class xorshift {
 public:
  explicit xorshift(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u | 1) {}

  std::uint64_t operator()() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

 private:
  std::uint64_t state_;
};

/// Chooses the operations that are timed: one in `every`, at random distances, so that nothing that
/// comes round regularly is always hit or always missed; 0: none.
class sampler {
 public:
  sampler(unsigned every, xorshift& random)
      : most_gap_(std::uint64_t{2} * every), random_(random), left_(next_gap()) {}

  bool due() {
    if (--left_ != 0) [[likely]]
      return false;
    left_ = next_gap();
    return true;
  }

 private:
  std::uint64_t next_gap() {
    if (most_gap_ == 0) return std::numeric_limits<std::uint64_t>::max();
    return 1 + random_() % (most_gap_ - 1);
  }

  const std::uint64_t most_gap_;
  xorshift& random_;
  std::uint64_t left_;
};

inline constexpr std::uint64_t unlimited_steps = std::numeric_limits<std::uint64_t>::max();

/// One thread of a run: its handles, its items, and what it counts and times. It pushes into one
/// queue and takes from one, which are the same but for ping-pong.
template <class Tag, class Queue>
class worker {
 public:
  static constexpr queue_traits traits = Tag::traits;
  static constexpr bool carries_items = !counter_only<Tag>;

  /// `owns`: this thread is the owner of the queue that it takes from. `sample_every`: one push or
  /// pop in so many is timed.
  worker(run_state& run, Queue& push_to, Queue& take_from, unsigned number, const char* role,
         bool owns, unsigned sample_every)
      : run(run),
        random(run.asked.seed + 0x10001 * (number + 1)),
        push_queue_(push_to),
        take_queue_(take_from),
        push_handle_(push_to),
        stash_(run.depot),
        owns_(owns),
        sampler_(sample_every, random) {
    if (&push_to != &take_from) other_handle_.emplace(take_from);
    take_handle_ = other_handle_ ? &*other_handle_ : &push_handle_;
    result.role = role;
  }

  run_state& run;
  xorshift random;
  thread_result result;

  /// Pushes an item of its own; false when the queue is full or all items are queued.
  bool push() {
    item* pushed = nullptr;
    if constexpr (carries_items) {
      pushed = stash_.take();
      if (pushed == nullptr) {
        ++result.measured.item_waits;
        return false;
      }
    }
    const push_result answer = timed(
        result.push_ns, [&] { return push_queue_.try_push(pushed, push_handle_); },
        [](push_result answer) { return answer == push_result::ok; });
    if (answer != push_result::ok) {
      ++result.measured.full_answers;
      if constexpr (carries_items) stash_.put(pushed);
      return false;
    }
    ++result.measured.pushes;
    ++result.operations;
    run.think();
    return true;
  }

  /// Lets others take what the queue keeps for its owner, if it does so.
  void publish() {
    if constexpr (publishing<Queue>) push_queue_.publish_hidden(push_handle_);
  }

  /// Takes an item out; false when the queue says that it is empty. Asks again while the answer is
  /// "contended", since that only says to look again.
  bool pop() {
    return took(timed(
        result.pop_ns, [this] { return settled_answer(); }, is_item));
  }

  /// Pops from a queue that is empty; here the answer "empty" is the operation.
  void pop_nothing() {
    const auto answer = timed(
        result.pop_ns, [this] { return settled_answer(); }, [](const auto&) { return true; });
    if (took(answer)) return;
    ++result.operations;
    run.think();
  }

  /// One try at another's queue.
  bool steal() {
    ++result.measured.steal_attempts;
    const auto answer = timed(
        result.pop_ns, [this] { return ask(); }, is_item);
    if (answer.status == pop_status::contended) {
      ++result.measured.contended_answers;
      return false;
    }
    if (!took(answer)) return false;
    ++result.measured.steals;
    return true;
  }

  /// Repeats `step` until it says that something was done, or the run is stopped.
  template <class Step>
  bool until_done(Step step) {
    backoff<native> wait;
    while (!step()) {
      if (run.stopped()) return false;
      wait();
    }
    return true;
  }
  bool push_until_done() {
    return until_done([this] { return push(); });
  }
  bool pop_until_done() {
    return until_done([this] { return pop(); });
  }

  /// Warms up and measures: repeats `step`, which says whether something was done, until the phases
  /// are over or, in a run of so many operations, until `most_steps` were done; unlimited: until
  /// the other threads have done theirs, without warm-up.
  template <class Step>
  void run_phases(std::uint64_t most_steps, Step step) {
    repeat(phase::warm_up, most_steps == unlimited_steps ? 0 : most_steps / 10, step);
    begin_measuring();
    repeat(phase::measure, most_steps, step);
    end_measuring();
  }

  void begin_measuring() {
    result.whole_run.add(std::exchange(result.measured, {}));
    result.operations = 0;
    result.push_ns = result.pop_ns = result.round_trip_ns = {};
    result.fill_cycles = result.drain_cycles = 0;
    obstacles::mine() = {};
    result.start_cycles = cycle_count();
    run.measuring.release();
  }

  void end_measuring() {
    result.end_cycles = cycle_count();
    result.failed_compare_exchanges = obstacles::mine().failed_compare_exchanges;
    result.contended_locks = obstacles::mine().contended_locks;
    result.whole_run.add(result.measured);
  }

  /// Adds the time since `start_cycles`, which ordered_cycle_count() gave, without the timer's own.
  void record(histogram& times, std::uint64_t start_cycles) {
    const std::uint64_t took = ordered_cycle_count() - start_cycles;
    const std::uint64_t cost = run.clock.timer_cost_cycles();
    times.add(run.clock.ns(took > cost ? took - cost : 0));
  }

 private:
  /// Runs `step` while it is the turn of `during`.
  template <class Step>
  void repeat(phase during, std::uint64_t most_steps, Step step) {
    if (run.by_operations()) {
      for (std::uint64_t done = 0; done < most_steps && !run.stopped();)
        if (step()) ++done;
    } else {
      while (run.now.load(std::memory_order_relaxed) == during) step();
    }
  }

  /// Does `call` and, if it is its turn and `counts` holds of the answer, adds its time to `times`.
  template <class Call, class Counts>
  auto timed(histogram& times, Call call, Counts counts) {
    if (!sampler_.due()) [[likely]]
      return call();
    const std::uint64_t start = ordered_cycle_count();
    const auto answer = call();
    if (counts(answer)) record(times, start);
    return answer;
  }

  static bool is_item(const pop_result<item*>& answer) { return bool(answer); }

  pop_result<item*> settled_answer() {
    backoff<native> wait;
    for (;;) {
      const pop_result<item*> answer = ask();
      if (answer.status != pop_status::contended) return answer;
      ++result.measured.contended_answers;
      wait();
    }
  }

  pop_result<item*> ask() {
    if constexpr (traits.pop == role::owner) {
      if (!owns_) return steal_from(take_queue_, *take_handle_);
    }
    return take_queue_.try_pop(*take_handle_);
  }

  /// Books an answer; false for "empty".
  bool took(const pop_result<item*>& answer) {
    if (!answer) {
      ++result.measured.empty_answers;
      return false;
    }
    if constexpr (carries_items) stash_.put(answer.item);
    ++result.measured.pops;
    ++result.operations;
    run.think();
    return true;
  }

  Queue& push_queue_;
  Queue& take_queue_;
  typename Queue::handle push_handle_;
  std::optional<typename Queue::handle> other_handle_;
  typename Queue::handle* take_handle_ = nullptr;
  item_stash stash_;
  const bool owns_;
  sampler sampler_;
};

}  // namespace heddle::bench
