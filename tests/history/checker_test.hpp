#pragma once

#include <gtest/gtest.h>
#include <history/large.hpp>
#include <history/linearizable.hpp>

/// Words for histories in tests of the checkers.
namespace heddle::history {

inline operation made(call what, outcome result, std::uint64_t value, std::uint64_t from,
                      std::uint64_t to, std::uint32_t thread) {
  return {what, result, value, thread, 0, from, to};
}
inline operation push(std::uint64_t value, std::uint64_t from, std::uint64_t to,
                      std::uint32_t thread = 0) {
  return made(call::push, outcome::ok, value, from, to, thread);
}
inline operation full(std::uint64_t from, std::uint64_t to) {
  return made(call::push, outcome::full, 99, from, to, 0);
}
inline operation pop(std::uint64_t value, std::uint64_t from, std::uint64_t to,
                     std::uint32_t thread = 0) {
  return made(call::pop, outcome::item, value, from, to, thread);
}
inline operation steal(std::uint64_t value, std::uint64_t from, std::uint64_t to) {
  return made(call::steal, outcome::item, value, from, to, 1);
}
inline operation empty(std::uint64_t from, std::uint64_t to, std::uint32_t thread = 0) {
  return made(call::pop, outcome::empty, 0, from, to, thread);
}
inline operation contended(std::uint64_t from, std::uint64_t to) {
  return made(call::pop, outcome::contended, 0, from, to, 2);
}
inline operation look(outcome result, std::uint64_t from, std::uint64_t to,
                      std::uint32_t thread = 0) {
  return made(call::look, result, 0, from, to, thread);
}

inline constexpr specification fifo{};
inline constexpr specification fifo_of_2{.capacity_slots = 2};
inline constexpr specification deque{.order = queue_order::lifo_owner_fifo_thief};
inline constexpr specification per_producer{.order = queue_order::fifo_per_producer};

inline specification relaxed(std::size_t first) {
  return {.order = queue_order::relaxed, .relaxation = first};
}

/// The same answer from the search and, where it is exact, from the check of large histories. Where
/// that one is not exact it must not find fault with what is right.
inline bool right(const recording& calls, const specification& promised) {
  const bool linearizable = check(calls, promised).holds;
  const bool passes = check_large(calls, promised).holds;
  const bool exact = promised.order == queue_order::fifo && promised.capacity_slots == 0 &&
                     promised.empty == truth::strict;
  EXPECT_TRUE(exact ? passes == linearizable : passes || !linearizable) << describe(calls);
  return linearizable;
}

}  // namespace heddle::history
