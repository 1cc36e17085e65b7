#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "calls.hpp"

namespace heddle::mutants {

/// What a client calls and what must hold of the answers.
struct script {
  /// "setup: thread | thread": the calls before the threads start and those of each, up to three.
  ///   push, pop, steal, look   as caller has them; items are numbered as they are written
  ///   half                     steal_half_into a queue of the thread's own, one item
  std::string_view calls;
  history::specification promised{};
  bool items_may_hide = false;  ///< the oracle is require_nothing_lost, not require_explained
};

/// The calls of a script, apart.
struct script_parts {
  static constexpr std::size_t most_threads = 3;

  struct part {
    std::string_view calls;
    int first_item = 1;
  };

  part setup;
  std::array<part, most_threads> threads{};
  std::size_t thread_count = 0;

  constexpr explicit script_parts(std::string_view calls) {
    int item = 1;
    const auto take = [&](std::size_t length, std::size_t sign) {
      const part found{calls.substr(0, length), item};
      for (std::size_t at = 0; (at = found.calls.find("push", at)) != found.calls.npos; ++at) {
        ++item;
      }
      calls.remove_prefix(std::min(length + sign, calls.size()));
      return found;
    };
    if (const std::size_t end = calls.find(':'); end != calls.npos) setup = take(end, 1);
    while (!calls.empty())
      threads[thread_count++] = take(std::min(calls.find('|'), calls.size()), 1);
  }
};

/// A client that is a script. `Client` has it as `plan`, and `capacity_slots` if it is not 0.
template <class Client>
struct scripted {
  static constexpr std::size_t capacity_slots = 0;

  template <class Where, class Queue>
  static void run() {
    static constexpr script_parts parts(Client::plan.calls);
    Queue queue(queue_options{.capacity_slots = Client::capacity_slots});
    call_log<Where> log;
    caller main(queue, log, lane::before);
    make(parts.setup, main, queue);
    [&]<std::size_t... Thread>(std::index_sequence<Thread...>) {
      Where::together([&] {
        caller self(queue, log, lane_of(Thread));
        make(parts.threads[Thread], self, queue);
      }...);
    }
    (std::make_index_sequence<parts.thread_count>{});
    main.drain();
    if (Client::plan.items_may_hide) {
      log.require_nothing_lost();
    } else {
      log.require_explained(Client::plan.promised);
    }
  }

 private:
  static constexpr lane lane_of(std::size_t thread) {
    return static_cast<lane>(static_cast<std::size_t>(lane::first) + thread);
  }

  static constexpr bool calls(std::string_view call) {
    return Client::plan.calls.find(call) != std::string_view::npos;
  }

  template <class Caller, class Queue>
  static void make(const script_parts::part& part, Caller& self, Queue& queue) {
    int item = part.first_item;
    std::string_view rest = part.calls;
    while (!(rest = rest.substr(std::min(rest.find_first_not_of(' '), rest.size()))).empty()) {
      const std::string_view call = rest.substr(0, rest.find(' '));
      rest.remove_prefix(call.size());
      if (call == "push") self.push(item++);
      if (call == "pop") self.pop();
      if constexpr (calls("look")) {
        if (call == "look") self.look();
      }
      if constexpr (calls("steal")) {
        if (call == "steal") self.steal();
      }
      if constexpr (calls("half")) {
        if (call != "half") continue;
        Queue own(queue_options{.capacity_slots = Client::capacity_slots});
        half_thief<Queue> thief{queue, own, 1};
        self.steal_by(thief);
      }
    }
  }
};

inline constexpr history::specification deque_order{.order = queue_order::lifo_owner_fifo_thief};
inline constexpr history::specification two_slots{.capacity_slots = 2, .full = truth::spurious};
inline constexpr history::specification four_slots{.capacity_slots = 4, .full = truth::spurious};
inline constexpr history::specification blocks_of_two{
    .capacity_slots = 4, .empty = truth::strict_when_quiescent, .full = truth::spurious};

// Lists.

struct pop_beside_a_reused_node : scripted<pop_beside_a_reused_node> {
  static constexpr char text[] = "1 item; pop ∥ push, pop, push with the node just freed";
  static constexpr script plan{"push: pop | push pop push"};
};

struct push_and_pop_beside_a_reused_node : scripted<push_and_pop_beside_a_reused_node> {
  static constexpr char text[] = "empty; push, pop ∥ push, pop, push with the node just freed";
  static constexpr script plan{"push pop | push pop push"};
};

struct one_push_and_two_pops : scripted<one_push_and_two_pops> {
  static constexpr char text[] = "push ∥ pop ∥ pop";
  static constexpr script plan{"push | pop | pop"};
};

struct two_producers_and_four_pops : scripted<two_producers_and_four_pops> {
  static constexpr char text[] = "push 2 ∥ push 2 ∥ pop 4";
  static constexpr script plan{"push push | push push | pop pop pop pop"};
};

// Rings.

struct one_push_and_a_theft : scripted<one_push_and_a_theft> {
  static constexpr char text[] = "push ∥ steal";
  static constexpr std::size_t capacity_slots = 4;
  static constexpr script plan{"push | half", four_slots};
};

struct theft_beside_a_whole_turn : scripted<theft_beside_a_whole_turn> {
  static constexpr char text[] = "steal ∥ the owner pops 4, pushes 4, pops 4: 8 steps of an index";
  static constexpr std::size_t capacity_slots = 4;
  static constexpr script plan{
      "push push push push: pop pop pop pop push push push push pop pop pop pop | half",
      four_slots};
};

struct pop_behind_an_unfinished_push : scripted<pop_behind_an_unfinished_push> {
  static constexpr char text[] = "push ∥ push, pop";
  static constexpr std::size_t capacity_slots = 2;
  static constexpr script plan{"push | push pop", two_slots};
};

struct pushes_for_one_lap : scripted<pushes_for_one_lap> {
  static constexpr char text[] = "capacity 2; push ∥ push 2: one lap";
  static constexpr std::size_t capacity_slots = 2;
  static constexpr script plan{"push | push push", two_slots};
};

struct look_beside_a_full_slot : scripted<look_beside_a_full_slot> {
  static constexpr char text[] = "1 item next; put next, get ∥ empty?";
  static constexpr script plan{"push: push pop | look", {.order = queue_order::relaxed}};
};

// Deques.

struct take_from_a_fresh_deque : scripted<take_from_a_fresh_deque> {
  static constexpr char text[] = "take from a fresh deque";
  static constexpr std::size_t capacity_slots = 2;
  static constexpr script plan{"pop", deque_order};
};

struct growth_beside_a_theft : scripted<growth_beside_a_theft> {
  static constexpr char text[] = "capacity 2; push 3, take 2 ∥ steal";
  static constexpr std::size_t capacity_slots = 2;
  static constexpr script plan{"push push push pop pop | steal", deque_order};
};

struct take_beside_two_thieves : scripted<take_beside_two_thieves> {
  static constexpr char text[] = "2 items; take ∥ steal ∥ steal";
  static constexpr std::size_t capacity_slots = 2;
  static constexpr script plan{"push push: pop | steal | steal", deque_order};
};

/// For the last item both sides claim, so there are two: the owner takes the second while the thief
/// takes both.
struct take_beside_two_thefts : scripted<take_beside_two_thefts> {
  static constexpr char text[] = "2 items; take ∥ steal 2";
  static constexpr std::size_t capacity_slots = 2;
  static constexpr script plan{"push push: pop | steal steal", deque_order};
};

struct two_blocks_and_a_thief : scripted<two_blocks_and_a_thief> {
  static constexpr char text[] = "2 blocks of 2; push 6 ∥ steal 4";
  static constexpr std::size_t capacity_slots = 4;
  static constexpr script plan{.calls = "push push push push push push | steal steal steal steal",
                               .items_may_hide = true};
};

// Segments.

struct two_pushes_and_two_pops : scripted<two_pushes_and_two_pops> {
  static constexpr char text[] = "push 2 ∥ pop ∥ pop";
  static constexpr std::size_t capacity_slots = 4;
  static constexpr script plan{"push push | pop | pop", blocks_of_two};
};

struct reuse_beside_two_pops : scripted<reuse_beside_two_pops> {
  static constexpr char text[] = "one block of 2, full; push ∥ pop ∥ pop";
  static constexpr std::size_t capacity_slots = 2;
  static constexpr script plan{"push push: push | pop | pop", blocks_of_two};
};

struct two_threads_that_push_and_pop : scripted<two_threads_that_push_and_pop> {
  static constexpr char text[] = "push, pop ∥ push, pop";
  static constexpr std::size_t capacity_slots = 2;
  static constexpr script plan{"push pop | push pop"};
};

struct freeze_beside_a_pop : scripted<freeze_beside_a_pop> {
  static constexpr char text[] = "full segment of 2; push, which freezes ∥ pop";
  static constexpr script plan{"push push: push | pop"};
};

}  // namespace heddle::mutants
