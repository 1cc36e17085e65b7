#pragma once

#include <array>

#include "options.hpp"
#include <heddle/queues/queue_traits.hpp>

namespace heddle::bench {

/// Whether a tag is no queue, but the counter that bounds them.
template <class Tag>
inline constexpr bool counter_only = requires {
  requires Tag::counter_only;
};

/// What a queue's traits allow: all that the benchmark knows of a queue.
struct abilities {
  bool many_push = false;      ///< several threads may push at once
  bool many_pop = false;       ///< several threads may call try_pop at once
  bool many_take = false;      ///< several threads may take items, by try_pop or as thieves
  bool hands_over = false;     ///< an item that one thread pushes can be taken by another at once
  bool fills_up = false;       ///< is full at its capacity and not before
  bool carries_items = false;  ///< false for the counter that is the upper bound

  static constexpr abilities of(const queue_traits& traits, bool counter_only) {
    const bool thieves = traits.pop == role::owner && traits.steal == role::any;
    return {.many_push = traits.push == role::any,
            .many_pop = traits.pop == role::any,
            .many_take = traits.pop == role::any || thieves,
            .hands_over = traits.pop == role::one || traits.every_item_stealable,
            .fills_up = traits.bounded && traits.exact_capacity,
            .carries_items = !counter_only};
  }

  /// Whether another thread than the one that pushes can take items at all.
  constexpr bool transfers(const queue_traits& traits) const {
    return many_take || traits.pop == role::one;
  }
};

/// The workloads, and for each how many threads a queue of these traits allows.
constexpr std::array<workload_rule, 11> rules_of(const queue_traits& traits, bool counter_only) {
  const abilities can = abilities::of(traits, counter_only);
  const bool transfers = can.transfers(traits);
  const unsigned by_all = can.many_push && can.many_pop ? most_threads : 1;
  const unsigned by_takers = can.many_take ? most_threads : 1;
  auto if_allowed = [](bool allowed, unsigned threads) { return allowed ? threads : 0; };
  return {{
      {workload::pairwise, "pairwise", "each thread pushes, then pops", 1, by_all, 1},
      {workload::random, "random", "each thread pushes or pops, with equal chances", 1, by_all, 1},
      {workload::one_to_one, "one-to-one", "half of the threads push, the others pop", 2,
       if_allowed(transfers, can.many_push && can.many_take ? most_threads : 2), 2},
      {workload::one_to_many, "one-to-many", "one thread pushes, the others pop", 3,
       if_allowed(can.many_take, most_threads), 1},
      {workload::many_to_one, "many-to-one", "all threads but one push, that one pops", 3,
       if_allowed(can.many_push && transfers, most_threads), 1},
      {workload::three_to_one, "three-to-one", "three of four threads push, the fourth pops", 4,
       if_allowed(can.many_push && transfers, can.many_take ? most_threads : 4), 4},
      {workload::burst, "burst", "all push a burst; then all drain it", 1, most_threads, 1},
      {workload::empty_pop, "empty-pop", "all pop from an empty queue", 1, by_takers, 1},
      {workload::nearly_full, "nearly-full", "pairwise, with one free slot for each thread", 1,
       if_allowed(can.fills_up && can.carries_items, by_all), 1},
      {workload::ping_pong, "ping-pong", "two threads pass an item through two queues", 2,
       if_allowed(can.carries_items && transfers && can.hands_over, 2), 1},
      {workload::owner_thieves, "owner-thieves",
       "one thread pushes and pops, the others steal a share of its items", 1,
       if_allowed(can.carries_items, by_takers), 1},
  }};
}

}  // namespace heddle::bench
