#pragma once

#include <deque>

#include <history/large.hpp>
#include <history/linearizable.hpp>
#include <history/recorder.hpp>

#include "roles.hpp"
#include "stress.hpp"

namespace heddle::queue_test {

/// Where all threads meet between rounds. It spins first: a round is shorter than a wake-up, and
/// threads that are woken one by one do not overlap.
class meeting {
 public:
  explicit meeting(std::size_t threads) : threads_(threads) {}

  void operator()() {
    const std::uint64_t round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    backoff<native> wait(1000);
    while (round_.load(std::memory_order_acquire) == round) wait();
  }

 private:
  const std::size_t threads_;
  std::atomic<std::size_t> arrived_{0};
  std::atomic<std::uint64_t> round_{0};
};

struct random_plan {
  queue_options options{};
  std::size_t threads = 2;
  std::size_t rounds = 1;
  std::size_t calls_each = 5;  ///< of a thread in a round
};

/// Threads that make random calls, as far as the traits let each of them. A round ends when they
/// have finished and the queue is drained; the calls of each are then checked.
template <class Queue>
class random_calls {
 public:
  explicit random_calls(const random_plan& plan)
      : plan_(plan),
        queue_(options_of(plan)),
        items_(plan.threads * plan.calls_each),
        meet_(plan.threads) {
    for (std::uint32_t thread = 0; thread < plan.threads; ++thread) {
      recorders_.emplace_back(clock_, thread);
      recorders_.back().reserve(plan.calls_each);
    }
  }

  /// `check(recording, specification)` says what is wrong with a round, or nothing. Returns the
  /// first such complaint.
  template <class Check>
  std::string run(const Check& check) {
    run_threads(plan_.threads, [&](std::size_t thread) {
      std::minstd_rand random(static_cast<unsigned>(thread + 1));
      typename Queue::handle handle(queue_);
      for (std::size_t round = 0; round < plan_.rounds; ++round) {
        meet_();
        if (!problem_.empty()) return;
        for (std::size_t call = 0; call < plan_.calls_each; ++call) {
          make_call(thread, call, random, handle);
          if (random() % 4 == 0) yield_at_random();
        }
        meet_();
        if (thread == drainer(plan_.threads)) end_round(thread, handle, check);
      }
    });
    return problem_;
  }

  std::size_t overlapping_rounds() const { return overlapping_rounds_; }

 private:
  using recorder = history::recorder<history::shared_clock>;

  static queue_options options_of(const random_plan& plan) {
    queue_options options = plan.options;
    options.handles = plan.threads;
    return options;
  }

  void make_call(std::size_t thread, std::size_t call, std::minstd_rand& random,
                 typename Queue::handle& handle) {
    const abilities may = abilities_of<Queue>(thread, plan_.threads);
    recorder& calls = recorders_[thread];
    const auto choice = random() % 16;
    if constexpr (publishing<Queue>) {
      if (thread == 0 && random() % 8 == 0) queue_.publish_hidden(handle);
    }
    if (choice == 0) {
      calls.look(queue_);
    } else if (may.pushes && (choice < 9 || !may.takes())) {
      calls.push(queue_, &items_[thread * plan_.calls_each + call], handle);
    } else if (may.pops && (choice < 13 || !may.steals)) {
      take_half_or_one(thread, choice, calls, handle);
    } else if (may.steals) {
      calls.steal(queue_, handle);
    }
  }

  void take_half_or_one(std::size_t thread, unsigned long choice, recorder& calls,
                        typename Queue::handle& handle) {
    if constexpr (traits.steals_half) {
      if (thread != 0 && choice % 2 == 0) {
        Queue loot(plan_.options);
        return calls.steal_half(queue_, loot, handle);
      }
    }
    calls.pop(queue_, handle);
  }

  /// Takes what is left; all of it must be there.
  template <class Check>
  void end_round(std::size_t thread, typename Queue::handle& handle, const Check& check) {
    std::ptrdiff_t inside = 0;
    for (const history::operation& call : history::collect(recorders_)) {
      inside += history::puts(call) - history::takes(call);
    }
    for (int false_answers = 0; inside > 0 && false_answers < 8;) {
      if (recorders_[thread].pop(queue_, handle)) {
        --inside;
      } else {
        ++false_answers;
      }
    }
    recorders_[thread].look(queue_);
    recorders_[thread].pop(queue_, handle);
    const history::recording calls = history::collect(recorders_);
    overlapping_rounds_ += overlap(calls);
    if (inside != 0) {
      problem_ = std::to_string(inside) + " items more pushed than taken:\n" + describe(calls);
    } else {
      problem_ = check(calls, history::specification_of(traits, queue_.capacity())).why;
    }
    for (recorder& each : recorders_) each.clear();
  }

  static bool overlap(history::recording calls) {
    std::sort(calls.begin(), calls.end(),
              [](const auto& left, const auto& right) { return left.invoked < right.invoked; });
    const auto overlap = [](const auto& left, const auto& right) {
      return left.thread != right.thread && left.responded >= right.invoked;
    };
    return std::adjacent_find(calls.begin(), calls.end(), overlap) != calls.end();
  }

  const random_plan plan_;
  Queue queue_;
  std::vector<test_item> items_;
  history::shared_clock clock_;
  meeting meet_;
  std::deque<recorder> recorders_;
  // Written between rounds by the one that ends them.
  std::string problem_;
  std::size_t overlapping_rounds_ = 0;
};

}  // namespace heddle::queue_test
