#pragma once

#include <algorithm>
#include <barrier>
#include <cstdint>

#include "rules.hpp"
#include "worker.hpp"

namespace heddle::bench {

/// Steps for one of `threads` that share the operations asked for, each step being
/// `operations_of_step`; unlimited when a duration was asked for.
inline std::uint64_t steps_of(const options& asked, std::uint64_t threads,
                              std::uint64_t operations_of_step) {
  if (asked.operations == 0) return unlimited_steps;
  const std::uint64_t each = threads * operations_of_step;
  return (asked.operations + each - 1) / each;
}

/// How the threads of a producers-and-consumers workload divide.
struct division {
  unsigned producers = 0;
  unsigned consumers = 0;

  static division of(workload what, unsigned threads) {
    switch (what) {
      case workload::one_to_one:
        return {threads / 2, threads / 2};
      case workload::one_to_many:
        return {1, threads - 1};
      case workload::many_to_one:
        return {threads - 1, 1};
      case workload::three_to_one:
        return {threads / 4 * 3, threads / 4};
      default:
        return {};
    }
  }

  /// Items that each producer pushes and each consumer pops, so that the sums agree.
  std::uint64_t steps(const options& asked, bool producer) const {
    if (asked.operations == 0) return unlimited_steps;
    // A tenth of the steps is warm-up, and its sums must agree as well.
    const std::uint64_t unit = std::uint64_t{producers} * consumers * 10;
    const std::uint64_t items = (asked.operations / 2 + unit) / unit * unit;
    return items / (producer ? producers : consumers);
  }
};

/// The rounds of a burst: how much each thread pushes and pops in one, and the barriers around it.
class burst_rounds {
 public:
  static constexpr std::size_t usual_items = 1024;  ///< of each thread that fills

  /// `fillers` of `threads` push; `drainers` of them pop equal shares.
  burst_rounds(run_state& run, unsigned threads, unsigned fillers, unsigned drainers,
               std::size_t capacity)
      : run_(run),
        fill_items_(capacity == 0 ? usual_items : std::min(usual_items, capacity / fillers)),
        drain_items_(fill_items_ * fillers / drainers),
        rounds_(steps_of(run.asked, 1, std::max<std::uint64_t>(1, 2 * fill_items_ * fillers))),
        start_(threads, on_start{*this}),
        filled_(threads) {
    // What one filler cannot divide into equal shares is not pushed.
    if (fillers == 1) fill_items_ = drain_items_ * drainers;
  }

  std::size_t fill_items() const { return fill_items_; }
  std::size_t drain_items() const { return drain_items_; }
  phase this_round() const { return this_round_; }

  void await_start() { start_.arrive_and_wait(); }
  void await_filled() { filled_.arrive_and_wait(); }

 private:
  /// Runs once a round while all threads wait: decides for all of them what the round is.
  struct on_start {
    burst_rounds& rounds;

    void operator()() noexcept {
      const phase now = rounds.run_.now.load(std::memory_order_relaxed);
      if (now == phase::stop || !rounds.run_.by_operations()) {
        rounds.this_round_ = now;
        return;
      }
      const std::uint64_t warm_up = rounds.rounds_ / 10;
      const std::uint64_t round = rounds.round_++;
      rounds.this_round_ = round < warm_up                    ? phase::warm_up
                           : round < warm_up + rounds.rounds_ ? phase::measure
                                                              : phase::stop;
    }
  };

  run_state& run_;
  std::size_t fill_items_;
  std::size_t drain_items_;
  const std::uint64_t rounds_;
  std::uint64_t round_ = 0;            // by the completion of start_ only
  phase this_round_ = phase::warm_up;  // written there, read between the barriers
  std::barrier<on_start> start_;
  std::barrier<> filled_;
};

template <class Worker>
void pairwise(Worker& self) {
  self.run_phases(steps_of(self.run.asked, self.run.asked.threads, 2), [&] {
    if (self.push_until_done()) self.pop_until_done();
    return true;
  });
}

template <class Worker>
void random_operations(Worker& self) {
  self.run_phases(steps_of(self.run.asked, self.run.asked.threads, 1), [&] {
    if (self.random() >> 63 != 0) {
      self.push();
    } else {
      self.pop();
    }
    return true;
  });
}

/// Repeats `one`, backing off while there is nothing to do.
template <class Worker, class One>
void one_sided(Worker& self, std::uint64_t steps, One one) {
  backoff<native> wait;
  self.run_phases(steps, [&] {
    if (one()) {
      wait = backoff<native>();
      return true;
    }
    wait();
    return false;
  });
}

template <class Worker>
void produce(Worker& self, const division& threads) {
  one_sided(self, threads.steps(self.run.asked, true), [&] {
    if (self.push()) return true;
    self.publish();  // consumers may be waiting for what only the owner sees
    return false;
  });
  self.publish();
}

template <class Worker>
void consume(Worker& self, const division& threads) {
  one_sided(self, threads.steps(self.run.asked, false), [&] { return self.pop(); });
}

/// A queue that may be full below its capacity takes what it can, and each thread pops as many
/// items as it pushed.
template <class Worker>
void burst(Worker& self, burst_rounds& rounds, bool fills, bool drains) {
  constexpr bool exact = Worker::traits.exact_capacity;
  bool measuring = false;
  for (;;) {
    rounds.await_start();
    if (rounds.this_round() != phase::warm_up && !std::exchange(measuring, true))
      self.begin_measuring();
    if (rounds.this_round() == phase::stop) break;
    const std::uint64_t start = cycle_count();
    const std::size_t most_pushes = fills ? rounds.fill_items() : 0;
    std::size_t pushes = 0;
    while (pushes < most_pushes && (exact ? self.push_until_done() : self.push())) ++pushes;
    self.result.fill_cycles += cycle_count() - start;
    rounds.await_filled();
    const std::uint64_t filled = cycle_count();
    for (std::size_t left = !exact ? pushes : drains ? rounds.drain_items() : 0; left > 0; --left)
      if (!self.pop_until_done()) break;
    self.result.drain_cycles += cycle_count() - filled;
  }
  self.end_measuring();
}

template <class Worker>
void empty_pop(Worker& self) {
  self.run_phases(steps_of(self.run.asked, self.run.asked.threads, 1), [&] {
    self.pop_nothing();
    return true;
  });
}

/// Fills the queue but for one slot a thread.
template <class Worker>
void fill_nearly(Worker& self) {
  while (self.push()) continue;
  for (unsigned left = self.run.asked.threads; left > 0; --left) self.pop_until_done();
}

/// The thread that times: a round trip is two hand-overs. Single pushes and pops are not timed,
/// since most of a pop is waiting here; trips are timed more often, since there are fewer of them.
template <class Worker>
void ping(Worker& self) {
  const unsigned every = self.run.asked.sample_every;
  sampler trips(every == 0 ? 0 : std::max(1u, every / trips_share), self.random);
  self.run_phases(steps_of(self.run.asked, 1, 4), [&] {
    const bool timed = trips.due();
    const std::uint64_t start = timed ? ordered_cycle_count() : 0;
    if (!self.push_until_done() || !self.pop_until_done()) return false;
    if (timed) self.record(self.result.round_trip_ns, start);
    return true;
  });
}

template <class Worker>
void pong(Worker& self) {
  one_sided(self, steps_of(self.run.asked, 1, 4),
            [&] { return self.pop() && self.push_until_done(); });
}

/// Pushes up to 16 items and pops as many, so that the queue is short and thieves meet the owner.
template <class Worker>
void own(Worker& self) {
  std::uint64_t pushes = 0;
  self.run_phases(steps_of(self.run.asked, 1, 17), [&] {
    const std::uint64_t length = 1 + self.random() % 16;
    std::uint64_t pushed = 0;
    while (pushed < length && self.push()) ++pushed;
    // relaxed: thieves only judge by it how far the owner is.
    self.run.owner_pushes.store(pushes += pushed, std::memory_order_relaxed);
    for (std::uint64_t left = std::max<std::uint64_t>(pushed, 1); left > 0; --left)
      if (!self.pop()) break;
    return true;
  });
}

/// Steals so many of the owner's items as were asked for, and looks at the owner's progress about
/// as often, since each look costs the owner a cache miss.
template <class Worker>
void steal_share(Worker& self, unsigned thieves) {
  constexpr double shortest_wait_ns = 200;
  constexpr double longest_wait_ns = 50'000;
  const double share = self.run.asked.steal_percent / 100 / thieves;
  const double ns_per_cycle = self.run.clock.ns_per_cycle();
  const std::uint64_t start = cycle_count();
  std::uint64_t wait_from = start;
  double wait_ns = shortest_wait_ns;
  double due = 0;
  std::uint64_t stolen = 0;
  self.run_phases(unlimited_steps, [&] {
    if (static_cast<double>(cycle_count() - wait_from) * ns_per_cycle < wait_ns) {
      native::pause();
      return false;
    }
    wait_ns = shortest_wait_ns;
    if (due <= static_cast<double>(stolen)) {
      const auto pushes =
          static_cast<double>(self.run.owner_pushes.load(std::memory_order_relaxed));
      due = pushes * share;
      if (due <= static_cast<double>(stolen)) {
        const double ns_per_push = self.run.clock.ns(cycle_count() - start) / std::max(1.0, pushes);
        wait_ns = std::clamp((static_cast<double>(stolen + 1) / share - pushes) * ns_per_push,
                             shortest_wait_ns, longest_wait_ns);
      }
    }
    if (due > static_cast<double>(stolen) && self.steal()) ++stolen;
    wait_from = cycle_count();
    return false;
  });
}

}  // namespace heddle::bench
