#pragma once

#include <array>
#include <cstddef>
#include <string>

#include <history/linearizable.hpp>
#include <history/recorder.hpp>

namespace heddle::mutants {

/// Where in a client a call stands: before its threads start, on one of them, or after all.
enum class lane { before, first, second, third, after };

/// The calls of one run of a client and their answers, and the oracle over them. `Where` is an
/// environment: it says by which clock calls are ordered.
template <class Where>
class call_log {
 public:
  using recorder = history::recorder<typename Where::clock>;

  recorder& at(lane where) { return lanes_[static_cast<std::size_t>(where)]; }

  /// The run has failed unless a sequential queue can give the same answers.
  void require_explained(const history::specification& promised) {
    const history::recording calls = all();
    Where::require(history::check(calls, promised, Where::order(calls)));
  }

  /// As above, but for the order, and where "empty" proves nothing: since items move between
  /// queues, or an owner hides some from its thieves. In the end there are none.
  void require_nothing_lost() {
    history::recording calls = all();
    std::erase_if(calls, [](const history::operation& call) {
      return call.result == history::outcome::empty || call.result == history::outcome::full;
    });
    const std::uint64_t now = clock_.advance() + 1;
    calls.push_back({.what = history::call::pop,
                     .result = history::outcome::empty,
                     .phase = last_phase + 1,
                     .invoked = now,
                     .responded = now});
    Where::require(history::check(calls, {.order = queue_order::relaxed}, Where::order(calls)));
  }

 private:
  static constexpr std::uint32_t last_phase = 2;

  history::recording all() const { return history::collect(lanes_); }

  typename Where::clock clock_;
  std::array<recorder, 5> lanes_{recorder(clock_, 0, 0), recorder(clock_, 1, 1),
                                 recorder(clock_, 2, 1), recorder(clock_, 3, 1),
                                 recorder(clock_, 0, last_phase)};
};

/// One thread of a client: makes calls on a queue, and has them written down.
template <class Where, class Queue>
class caller {
 public:
  caller(Queue& queue, call_log<Where>& log, lane where)
      : queue_(queue), handle_(queue), log_(log), recorder_(&log.at(where)) {}

  push_result push(int item) { return recorder_->push(queue_, item, handle_); }
  pop_status pop() { return recorder_->pop(queue_, handle_).status; }
  pop_status steal() { return recorder_->steal(queue_, handle_).status; }
  bool look() { return recorder_->look(queue_); }

  /// A theft in another way than try_steal: `thief` has that name for it.
  template <class Thief>
  pop_status steal_by(Thief& thief) {
    return recorder_->steal(thief, handle_).status;
  }

  /// Pops what is left, and one more: calls after all threads. A mutant may hold items without end.
  void drain() {
    constexpr int most_items = 16;
    recorder_ = &log_.at(lane::after);
    pop_status got = pop_status::item;
    for (int count = 0; count < most_items && got == pop_status::item; ++count) got = pop();
    if (got == pop_status::contended) {
      Where::require({false, "pop says contended, and all threads have ended"});
    }
  }

 private:
  Queue& queue_;
  typename Queue::handle handle_;
  call_log<Where>& log_;
  typename call_log<Where>::recorder* recorder_;
};

/// Steals up to half of the items of a queue, and leaves all but the first in a queue of the
/// calling thread.
template <class Queue>
struct half_thief {
  using handle = typename Queue::handle;

  Queue& from;
  Queue& to;
  std::size_t most = ~std::size_t{0};

  pop_result<int> try_steal(handle& handle) { return from.steal_half_into(to, most, handle); }
};

}  // namespace heddle::mutants
