#pragma once

#include <atomic>

#include <history/history.hpp>

#include <heddle/base/cache_line.hpp>

namespace heddle::history {

/// Clock of real threads: it counts the calls that have returned. Who begins a call reads it, who
/// returns from one advances it, so a call costs one shared read and one shared update.
///
/// The recorded order is never more than what happened. When a call is invoked at a later time than
/// another responded, [returned] puts everything that the other did before everything that this one
/// does; a time-stamp counter would not: a store may leave its processor after the stamp was taken.
/// Times that lag behind only make calls overlap that did not. The price is that threads meet
/// between calls, and what weak ordering would do there is left to the explorer.
class shared_clock {
 public:
  // [returned] acquire ← release below.
  std::uint64_t now() const { return returned_.load(std::memory_order_acquire); }
  // [returned] release → acquire above; through later updates too, which continue its sequence.
  std::uint64_t advance() { return returned_.fetch_add(1, std::memory_order_acq_rel); }

 private:
  alignas(cache_line_bytes) std::atomic<std::uint64_t> returned_{0};
};

/// Clock of model threads, of which one runs at a time: it is no part of what is explored.
class step_clock {
 public:
  std::uint64_t now() const { return returned_; }
  std::uint64_t advance() { return returned_++; }

 private:
  std::uint64_t returned_ = 0;
};

/// What a history calls an item: itself, or its address, which is never followed.
template <class T>
std::uint64_t value_of(T item) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<std::uintptr_t>(item);
  } else {
    return static_cast<std::uint64_t>(item);
  }
}

/// Makes the calls of one thread on a queue, and writes them down.
template <class Clock>
class recorder {
 public:
  recorder(Clock& clock, std::uint32_t thread, std::uint32_t phase = 0)
      : clock_(clock), thread_(thread), phase_(phase) {}

  /// So that no call is followed by an allocation.
  void reserve(std::size_t calls) { calls_.reserve(calls); }

  template <class Queue, class T>
  push_result push(Queue& queue, T item, typename Queue::handle& handle) {
    operation& made = begin(call::push);
    const push_result result = queue.try_push(item, handle);
    made.value = value_of(item);
    end(made, result == push_result::ok ? outcome::ok : outcome::full);
    return result;
  }

  template <class Queue>
  auto pop(Queue& queue, typename Queue::handle& handle) {
    operation& made = begin(call::pop);
    return end_take(made, queue.try_pop(handle));
  }

  template <class Queue>
  auto steal(Queue& queue, typename Queue::handle& handle) {
    operation& made = begin(call::steal);
    return end_take(made, steal_from(queue, handle));
  }

  /// As many steals, all at the same time, as there were items in the half. `loot` is a queue that
  /// only this recorder uses.
  template <class Queue>
  void steal_half(Queue& queue, Queue& loot, typename Queue::handle& handle) {
    operation& begun = begin(call::steal);  // a statement of its own: before the steal
    const auto first = end_take(begun, queue.steal_half_into(loot, ~std::size_t{0}, handle));
    const operation made = begun;
    typename Queue::handle loot_handle(loot);
    while (const auto more = first ? loot.try_pop(loot_handle) : decltype(first){}) {
      calls_.push_back(made);
      calls_.back().value = value_of(more.item);
    }
  }

  template <class Queue>
  bool look(const Queue& queue) {
    operation& made = begin(call::look);
    const bool nonempty = queue.maybe_nonempty();
    end(made, nonempty ? outcome::nonempty : outcome::empty);
    return nonempty;
  }

  const recording& calls() const { return calls_; }
  void clear() { calls_.clear(); }

 private:
  operation& begin(call what) {
    operation& made = calls_.emplace_back();
    made.what = what;
    made.thread = thread_;
    made.phase = phase_;
    made.invoked = clock_.now();
    return made;
  }

  void end(operation& made, outcome result) {
    made.responded = clock_.advance();
    made.result = result;
  }

  template <class T>
  pop_result<T> end_take(operation& made, pop_result<T> popped) {
    end(made, popped.status == pop_status::item    ? outcome::item
              : popped.status == pop_status::empty ? outcome::empty
                                                   : outcome::contended);
    if (popped) made.value = value_of(popped.item);
    return popped;
  }

  Clock& clock_;
  const std::uint32_t thread_;
  const std::uint32_t phase_;
  recording calls_;
};

/// All calls of all threads.
template <class Recorders>
recording collect(const Recorders& recorders) {
  recording all;
  for (const auto& one : recorders) all.insert(all.end(), one.calls().begin(), one.calls().end());
  return all;
}

}  // namespace heddle::history
