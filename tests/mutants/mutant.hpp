#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "environments.hpp"

namespace heddle::mutants {

/// A client with a queue: under the explorer, and on real threads unless it is null.
struct program {
  const char* queue;
  void (*under_explorer)();
  void (*on_real_threads)();
};

/// One line of the table: a published bug in a small form of its algorithm, with the client that
/// shows it and the forms without it.
struct mutant {
  std::string name;
  std::string bug;
  std::string client;
  bool weak = false;                       ///< needs weak memory: mode sc must not find it
  std::uint64_t most_executions = 20'000;  ///< of each form
  std::vector<program> correct{};          ///< the small form, then members of the zoo
  std::optional<program> mutated{};
  /// In place of a client: random calls of one thread beside a std::deque. An answer that differs
  /// comes back as text.
  using sequential = std::optional<std::string> (*)(std::uint64_t seed);
  sequential correct_alone = nullptr;
  sequential mutated_alone = nullptr;
};

template <class Client, class Tag>
constexpr program program_of(const char* queue) {
  return {queue,
          &Client::template run<model_threads, typename Tag::template type<int, explore::model>>,
          &Client::template run<real_threads, typename Tag::template type<int, native>>};
}

/// A mutant for the explorer. `member`: the queue of the zoo that runs the same client.
template <class Client, class Correct, class Mutated, class... Members>
mutant concurrent_mutant(std::string name, std::string bug, bool weak) {
  return {.name = std::move(name),
          .bug = std::move(bug),
          .client = Client::text,
          .weak = weak,
          .correct = {program_of<Client, Correct>("correct form"),
                      program_of<Client, Members>("member of the zoo")...},
          .mutated = program_of<Client, Mutated>("mutant")};
}

/// The native platform for one thread, where a call that keeps looking will do so for ever.
struct alone : native {
  static inline int looks_left = 0;

  template <class T>
  class atomic : public std::atomic<T> {
   public:
    using std::atomic<T>::atomic;

    T load(std::memory_order order) const {
      if (--looks_left < 0) throw std::runtime_error("no end of looking");
      return std::atomic<T>::load(order);
    }
  };
};

/// What the sequential layer gives a queue.
struct sequential_plan {
  std::size_t capacity_slots = 4;
  std::uint64_t first_index = 0;
  int first_item = 1;
};

/// Random calls, the first of them a pop, beside a std::deque. A queue may refuse its capacity.
template <class Tag, sequential_plan Plan>
std::optional<std::string> run_alone(std::uint64_t seed) try {
  using queue_type = typename Tag::template type<int, alone>;
  constexpr bool has_thieves = requires(queue_type & queue, typename queue_type::handle & handle) {
    queue.try_steal(handle);
  };
  constexpr int most_looks = 1'000;
  alone::looks_left = most_looks;
  std::optional<queue_type> queue;
  try {
    queue.emplace(
        queue_options{.capacity_slots = Plan.capacity_slots, .first_index = Plan.first_index});
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
  typename queue_type::handle handle(*queue);
  std::deque<int> model;
  std::minstd_rand random(static_cast<unsigned>(seed));
  int next_item = Plan.first_item;
  for (int step = 0; step < 24; ++step) {
    const std::string where = "call " + std::to_string(step) + ": ";
    alone::looks_left = most_looks;
    if (step > 0 && random() % 3 != 0) {
      // Some forms are full before every slot is in use, none while it holds nothing.
      if (queue->try_push(next_item, handle) == push_result::ok) {
        model.push_back(next_item++);
      } else if (model.empty()) {
        return where + "full, and nothing is in it";
      }
      continue;
    }
    pop_result<int> got;
    const bool steals = has_thieves && random() % 2 == 0;
    if constexpr (has_thieves) {
      got = steals ? queue->try_steal(handle) : queue->try_pop(handle);
    } else {
      got = queue->try_pop(handle);
    }
    if (model.empty()) {
      if (got) return where + "item " + std::to_string(got.item) + " from an empty queue";
      continue;
    }
    const bool last = has_thieves && !steals;
    const int due = last ? model.back() : model.front();
    if (!got) return where + "no item, and " + std::to_string(due) + " is due";
    if (got.item != due) {
      return where + "item " + std::to_string(got.item) + ", and " + std::to_string(due) +
             " is due";
    }
    last ? model.pop_back() : model.pop_front();
  }
  return std::nullopt;
} catch (const std::runtime_error& error) {
  return error.what();
}

/// A mutant that one thread shows.
template <class Correct, class Mutated, sequential_plan Plan>
mutant sequential_mutant(std::string name, std::string bug, std::string client) {
  return {.name = std::move(name),
          .bug = std::move(bug),
          .client = std::move(client),
          .correct_alone = &run_alone<Correct, Plan>,
          .mutated_alone = &run_alone<Mutated, Plan>};
}

}  // namespace heddle::mutants
