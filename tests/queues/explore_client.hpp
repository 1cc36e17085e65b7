#pragma once

#include <deque>
#include <sstream>

#include <explore/explore.hpp>
#include <history/linearizable.hpp>
#include <history/recorder.hpp>

#include "roles.hpp"

namespace heddle::queue_test {

/// A few calls by a few threads, written as "setup: thread | thread". The client's main thread
/// makes the calls of the setup before the others start, those of the first thread beside them, and
/// drains the queue when they have ended.
///   push, pop, look   try_push, try_pop, maybe_nonempty
///   steal             what a thief does
///   half              steal_half_into a queue of its own
///   publish           publish_hidden
struct program {
  using calls = std::vector<std::string>;

  explicit program(std::string written) : text(std::move(written)) {
    std::istringstream words(text);
    threads.emplace_back();
    for (std::string word; words >> word;) {
      if (word == "|") {
        threads.emplace_back();
        continue;
      }
      const bool ends_setup = word.back() == ':';
      if (ends_setup) word.pop_back();
      threads.back().push_back(word);
      if (ends_setup) setup.swap(threads.back());
    }
  }

  std::string text;
  calls setup;
  std::vector<calls> threads;
};

template <class Queue>
bool may_call(const std::string& call, std::size_t thread, std::size_t threads) {
  const abilities may = abilities_of<Queue>(thread, threads);
  if (call == "push") return may.pushes;
  if (call == "pop") return may.pops;
  if (call == "steal") return owner_pops && thread != 0 && may.takes();
  if (call == "half") return traits.steals_half && thread != 0;
  if (call == "publish") return publishing<Queue> && thread == 0;
  return call == "look";
}

/// Whether the traits let each thread of the program make its calls.
template <class Queue>
bool applies(const program& program) {
  const std::size_t count = program.threads.size();
  const auto all_may_be_made = [count](const program::calls& calls, std::size_t thread) {
    return std::all_of(calls.begin(), calls.end(), [&](const std::string& call) {
      return may_call<Queue>(call, thread, count);
    });
  };
  for (std::size_t thread = 0; thread < count; ++thread) {
    if (!all_may_be_made(program.threads[thread], thread)) return false;
  }
  return all_may_be_made(program.setup, 0);
}

/// Its payload is written before the push and read after the take: the explorer finds a race when
/// the queue has not ordered the two.
struct explored_item : queue_hook {
  explore::model::cell<int> payload{0};
};

/// Runs a program once, inside the explorer, and checks the history of its calls.
template <class Queue>
class explored_run {
 public:
  explored_run(const program& program, const queue_options& options, bool warm)
      : program_(program), options_(options), warm_(warm), queue_(options) {}

  void operator()() {
    const std::size_t count = program_.threads.size();
    recorder setup(clock_, 0, setup_phase);
    recorder drain(clock_, 0, drain_phase);
    std::deque<typename Queue::handle> handles;
    for (std::uint32_t thread = 0; thread < count; ++thread) {
      recorders_.emplace_back(clock_, thread, thread_phase);
      if (thread == 0 || warm_) handles.emplace_back(queue_);
      if (warm_) warm_up(thread, handles.back());
    }
    make_calls(program_.setup, setup, handles[0]);
    {
      std::deque<explore::thread> threads;
      for (std::size_t thread = 1; thread < count; ++thread) {
        threads.emplace_back([this, thread, &handles] {
          if (warm_) return run_thread(thread, handles[thread]);
          typename Queue::handle own(queue_);
          run_thread(thread, own);
        });
      }
      run_thread(0, handles[0]);
    }
    recorders_.push_front(setup);
    drain_all(drain, handles[0]);
    recorders_.push_back(drain);
    const history::recording calls = history::collect(recorders_);
    const history::verdict found = history::check(
        calls, history::specification_of(traits, queue_.capacity()), history::causal_order(calls));
    explore::require(found.holds, found.why.c_str());
  }

 private:
  using recorder = history::recorder<history::step_clock>;
  enum phase : std::uint32_t { setup_phase, thread_phase, drain_phase };

  /// One push and pop, if the thread may do both: what its handle keeps for later (nodes, tokens)
  /// it then has, and the client's calls explore the queue alone.
  void warm_up(std::size_t thread, typename Queue::handle& handle) {
    const abilities may = abilities_of<Queue>(thread, program_.threads.size());
    if (!may.pushes || !may.pops) return;
    queue_.try_push(&items_.emplace_back(), handle);
    explore::require(bool{queue_.try_pop(handle)}, "the only item was not found");
  }

  void run_thread(std::size_t thread, typename Queue::handle& handle) {
    make_calls(program_.threads[thread], recorders_[thread], handle);
  }

  void make_calls(const program::calls& calls, recorder& to, typename Queue::handle& handle) {
    for (const std::string& call : calls) {
      if (call == "push") push(to, handle);
      if (call == "pop") read(to.pop(queue_, handle));
      if (call == "steal") read(to.steal(queue_, handle));
      if (call == "look") to.look(queue_);
      if constexpr (half_stealing<Queue, explored_item*>) {
        if (call == "half") {
          Queue loot(options_);
          to.steal_half(queue_, loot, handle);
        }
      }
      if constexpr (publishing<Queue>) {
        if (call == "publish") queue_.publish_hidden(handle);
      }
    }
  }

  void push(recorder& to, typename Queue::handle& handle) {
    explored_item& item = items_.emplace_back();
    item.payload.store(1);
    to.push(queue_, &item, handle);
  }

  void read(const pop_result<explored_item*>& taken) {
    const auto is_taken = [&taken](const explored_item& item) { return &item == taken.item; };
    if (!taken) return;
    explore::require(std::any_of(items_.begin(), items_.end(), is_taken), "an invented item");
    explore::require(taken.item->payload.load() == 1, "an item without its payload");
  }

  /// All that is left must be there, and be seen to be. Only a queue whose answers may be false at
  /// random is asked once more; many questions would be a spin, which the explorer cuts.
  void drain_all(recorder& to, typename Queue::handle& handle) {
    std::ptrdiff_t inside = 0;
    for (const history::operation& call : history::collect(recorders_)) {
      inside += history::puts(call) - history::takes(call);
    }
    for (; inside > 0; --inside) {
      to.look(queue_);
      auto taken = to.pop(queue_, handle);
      if (!taken && traits.empty == truth::spurious) taken = to.pop(queue_, handle);
      explore::require(bool{taken}, "an item was lost");
      read(taken);
    }
    explore::require(inside == 0, "more items were taken than pushed");
    to.look(queue_);
    to.pop(queue_, handle);
  }

  const program& program_;
  const queue_options& options_;
  const bool warm_;
  Queue queue_;
  std::deque<explored_item> items_;
  history::step_clock clock_;
  std::deque<recorder> recorders_;
};

}  // namespace heddle::queue_test
