#pragma once

#include <algorithm>
#include <chrono>
#include <latch>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../process.hpp"
#include "workloads.hpp"

namespace heddle::bench {

/// One run of one workload over the queue of `Tag` on `Platform`: what its threads share.
template <class Tag, class Platform>
class experiment {
 public:
  static constexpr queue_traits traits = Tag::traits;
  static constexpr bool carries_items = !counter_only<Tag>;
  static constexpr abilities can = abilities::of(traits, counter_only<Tag>);

  /// Errors: std::invalid_argument when the capacity is not one for this queue or workload.
  experiment(const options& asked, const cycle_clock& clock, const thinker& think)
      : asked_(asked),
        capacity_(capacity_of(asked)),
        state_{asked, clock, think, item_depot(items())},
        memory_before_kib_(status_kib("VmHWM")),
        first_(make_queue()),
        second_(asked.what == workload::ping_pong ? make_queue() : nullptr),
        division_(division::of(asked.what, asked.threads)),
        fillers_(can.many_push && (traits.exact_capacity || can.many_pop) ? asked.threads : 1),
        drainers_(can.many_take && can.hands_over && (traits.exact_capacity || can.many_push)
                      ? asked.threads
                      : 1),
        rounds_(state_, asked.threads, fillers_, drainers_, capacity_),
        start_(asked.threads + 1) {
    if (asked.what == workload::burst && rounds_.fill_items() == 0)
      throw std::invalid_argument("--capacity: burst needs a slot for each thread");
    if (asked.what == workload::nearly_full && capacity_ <= asked.threads)
      throw std::invalid_argument("--capacity: nearly-full needs more slots than threads");
  }

  /// Runs all threads to their end. Errors: std::runtime_error when that takes too long, or when
  /// items were lost or came out twice.
  run_result run() {
    run_result result;
    result.threads.resize(asked_.threads);
    std::vector<std::jthread> threads;
    for (unsigned number = 0; number < asked_.threads; ++number) {
      threads.emplace_back([this, number, &slot = result.threads[number]] {
        if (asked_.pin) pin_to_processor(number);
        slot = run_thread(number);
        if (leads(number)) done_.release();
      });
    }
    const bool in_time = conduct();
    threads.clear();
    result.memory_before_kib = memory_before_kib_;
    result.memory_peak_kib = status_kib("VmHWM");
    result.capacity_slots = capacity_;
    result.empty_is_false = carries_items && never_runs_empty();
    result.full_is_false = result.empty_is_false && can.fills_up && capacity_ >= asked_.threads;
    if (!in_time) throw std::runtime_error("the run did not end within its time");
    if constexpr (carries_items) check_items(result);
    return result;
  }

 private:
  using queue = typename Tag::template type<item*, Platform>;
  using worker_type = worker<Tag, queue>;

  static constexpr std::size_t usual_items = 4096;  ///< that can be queued at once
  /// Of all but the measured time itself, or of a run of so many operations.
  static constexpr std::chrono::seconds longest_run{60};

  static std::size_t capacity_of(const options& asked) {
    if (asked.capacity_slots == 0) return traits.default_capacity;
    if (!traits.bounded) throw std::invalid_argument("--capacity: this queue is not bounded");
    return asked.capacity_slots;
  }

  std::unique_ptr<queue> make_queue() const {
    return std::make_unique<queue>(
        queue_options{.capacity_slots = asked_.capacity_slots, .handles = asked_.threads + 1});
  }

  /// How many items there are: enough for the fullest queue, and for what threads hold.
  std::size_t items() const {
    std::size_t queued = usual_items;
    if (asked_.what == workload::burst)
      queued = std::max(queued, burst_rounds::usual_items * asked_.threads);
    if (asked_.what == workload::nearly_full) queued = std::max(queued, capacity_);
    return !carries_items ? 0 : queued + (asked_.threads + 1) * item_stash::most_items;
  }

  /// In these a thread pops only while an item of its own, or of its share, is still in the queue.
  bool never_runs_empty() const {
    return asked_.what == workload::pairwise || asked_.what == workload::burst ||
           asked_.what == workload::nearly_full;
  }

  /// Takes the threads through the phases; false when they took too long.
  bool conduct() {
    const auto deadline = std::chrono::steady_clock::now() + longest_run;
    bool in_time = true;
    start_.arrive_and_wait();
    if (state_.by_operations()) {
      for (unsigned number = 0; number < asked_.threads && in_time; ++number)
        if (leads(number)) in_time = done_.try_acquire_until(deadline);
    } else {
      const std::chrono::milliseconds duration(asked_.duration_ms);
      std::this_thread::sleep_for(std::max(duration / 10, std::chrono::milliseconds(1)));
      state_.now.store(phase::measure, std::memory_order_relaxed);
      for (unsigned left = asked_.threads; left > 0 && in_time; --left)
        in_time = state_.measuring.try_acquire_until(deadline);
      if (in_time) std::this_thread::sleep_for(duration);
    }
    state_.now.store(phase::stop, std::memory_order_relaxed);
    return in_time;
  }

  /// Whether the thread ends by itself when the operations asked for are done; thieves do not.
  bool leads(unsigned number) const {
    return number == 0 || asked_.what != workload::owner_thieves;
  }

  thread_result run_thread(unsigned number) {
    switch (asked_.what) {
      case workload::pairwise:
        return as("thread", number, [](worker_type& self) { pairwise(self); });
      case workload::random:
        return as("thread", number, [](worker_type& self) { random_operations(self); });
      case workload::empty_pop:
        return as(traits.pop != role::owner ? "thread"
                  : number == 0             ? "owner"
                                            : "thief",
                  number, [](worker_type& self) { empty_pop(self); });
      case workload::nearly_full:
        return as("thread", number, [](worker_type& self) { pairwise(self); });
      case workload::burst:
        return as("thread", number, [&](worker_type& self) {
          burst(self, rounds_, number < fillers_, number < drainers_);
        });
      case workload::ping_pong:
        if (number == 0) return as("ping", number, [](worker_type& self) { ping(self); });
        return as("pong", number, [](worker_type& self) { pong(self); });
      case workload::owner_thieves:
        if (number == 0) return as("owner", number, [](worker_type& self) { own(self); });
        return as("thief", number,
                  [&](worker_type& self) { steal_share(self, asked_.threads - 1); });
      default:
        if (number < division_.producers)
          return as("producer", number, [&](worker_type& self) { produce(self, division_); });
        return as("consumer", number, [&](worker_type& self) { consume(self, division_); });
    }
  }

  /// The calling thread in its role: what it needs is made before the common start.
  template <class Body>
  thread_result as(const char* role, unsigned number, Body body) {
    const bool passes = asked_.what == workload::ping_pong;
    queue& push_to = passes && number == 1 ? *second_ : *first_;
    queue& take_from = passes && number == 0 ? *second_ : *first_;
    worker_type self(state_, push_to, take_from, number, role, !passes && number == 0,
                     passes ? 0 : asked_.sample_every);
    if (asked_.what == workload::nearly_full && number == 0) fill_nearly(self);
    start_.arrive_and_wait();
    body(self);
    return std::move(self.result);
  }

  /// Nobody uses the queues any more, so this thread may do all that an owner may.
  static std::uint64_t drain(queue& left) {
    typename queue::handle handle(left);
    std::uint64_t drained = 0;
    // An "empty" need not be true, and maybe_nonempty() may say so for ever.
    for (int empty_answers = 0; empty_answers < 1000;) {
      const pop_status status = left.try_pop(handle).status;
      drained += status == pop_status::item;
      if (status == pop_status::empty && !left.maybe_nonempty()) break;
      empty_answers += status == pop_status::empty;
    }
    return drained;
  }

  void check_items(const run_result& result) const {
    tallies all;
    for (const thread_result& thread : result.threads) all.add(thread.whole_run);
    const std::uint64_t left = drain(*first_) + (second_ ? drain(*second_) : 0);
    if (all.pushes != all.pops + left) {
      throw std::runtime_error(std::to_string(all.pushes) + " items were pushed, " +
                               std::to_string(all.pops) + " popped and " + std::to_string(left) +
                               " left");
    }
  }

  const options& asked_;
  const std::size_t capacity_;
  run_state state_;
  const std::uint64_t memory_before_kib_;
  const std::unique_ptr<queue> first_;
  const std::unique_ptr<queue> second_;  // ping-pong only
  const division division_;
  const unsigned fillers_;
  const unsigned drainers_;
  burst_rounds rounds_;
  std::latch start_;
  std::counting_semaphore<most_threads> done_{0};
};

/// Bytes that a queue of this kind allocates for each item it holds, itself and the link of an
/// intrusive item included: a bounded queue of `capacity_slots` when it is full, others with 65,536
/// items.
template <class Tag>
double bytes_per_element(std::size_t capacity_slots) {
  using queue = typename Tag::template type<item*, native>;
  std::vector<item> items(Tag::traits.bounded ? capacity_slots : 65'536);
  const std::uint64_t before = allocated_bytes();
  const auto filled = std::make_unique<queue>(queue_options{.capacity_slots = capacity_slots});
  typename queue::handle handle(*filled);
  std::size_t count = 0;
  while (count < items.size() && filled->try_push(&items[count], handle) == push_result::ok)
    ++count;
  const std::uint64_t bytes = allocated_bytes() - before;
  // An intrusive queue may look at its items when it ends.
  while (filled->try_pop(handle)) continue;
  const double link = Tag::traits.element == element_kind::intrusive_link ? sizeof(queue_hook) : 0;
  return static_cast<double>(bytes) / static_cast<double>(std::max<std::size_t>(1, count)) + link;
}

}  // namespace heddle::bench
