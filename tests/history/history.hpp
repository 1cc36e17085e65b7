#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <heddle/queues/queue_traits.hpp>

/// Histories of calls on one queue, and what they are checked against. The checks themselves are in
/// linearizable.hpp (any specification, few calls) and large.hpp (many calls).
namespace heddle::history {

enum class call : std::uint8_t { push, pop, steal, look };

/// A push ends `ok` or `full`, a pop or a steal `item`, `empty` or `contended`, a look
/// (maybe_nonempty) `nonempty` or `empty`.
enum class outcome : std::uint8_t { ok, full, item, empty, contended, nonempty };

/// One call. Times come from one clock for all threads: a call that responded at a time before the
/// one at which another was invoked had returned by then. Equal times prove nothing.
struct operation {
  call what = call::push;
  outcome result = outcome::ok;
  std::uint64_t value = 0;   ///< what was pushed or taken
  std::uint32_t thread = 0;  ///< makes one call after the other
  std::uint32_t phase = 0;   ///< see causal_order
  std::uint64_t invoked = 0;
  std::uint64_t responded = 0;
};

/// In any order. No two pushes that ended `ok` have the same value.
using recording = std::vector<operation>;

inline bool takes(const operation& call) { return call.result == outcome::item; }
inline bool puts(const operation& call) { return call.result == outcome::ok; }

/// What a queue promises.
struct specification {
  queue_order order = queue_order::fifo;
  std::size_t capacity_slots = 0;  ///< 0: unbounded, and never full
  std::size_t relaxation = 0;      ///< `relaxed`: takes one of the first that many; 0: any
  truth empty = truth::strict;
  truth full = truth::strict;
  bool exact_capacity = true;        ///< false: may be full unless it is empty
  bool every_item_stealable = true;  ///< false: a thief may find nothing where the owner does
};

/// `capacity_slots` is that of the queue, 0 if it is unbounded.
inline specification specification_of(const queue_traits& traits, std::size_t capacity_slots) {
  return {.order = traits.order,
          .capacity_slots = capacity_slots,
          .relaxation = traits.relaxation,
          .empty = traits.empty,
          .full = traits.full,
          .exact_capacity = traits.exact_capacity,
          .every_item_stealable = traits.every_item_stealable};
}

/// How many items must be inside for a true `full`.
inline std::size_t fewest_when_full(const specification& promised) {
  return promised.exact_capacity ? promised.capacity_slots : std::size_t{1};
}

/// Whether the call's "empty" or "full" may be false. `alone`: no other call overlapped it.
inline bool may_be_false(const specification& promised, const operation& call, bool alone) {
  const bool empty = call.result == outcome::empty;
  if (empty && call.what == history::call::steal && !promised.every_item_stealable) return true;
  const truth kind = empty ? promised.empty : promised.full;
  return kind == truth::spurious || (kind == truth::strict_when_quiescent && !alone);
}

struct verdict {
  bool holds = true;
  std::string why;  ///< what is wrong, with the history when it is short

  explicit operator bool() const { return holds; }
};

/// For each call of a recording the set of those that certainly precede it: bit i is call i. It is
/// transitive.
using precedence = std::vector<std::uint64_t>;

inline constexpr std::size_t most_calls = 64;  ///< of a recording that has a precedence

inline std::uint64_t bit(std::size_t call) { return std::uint64_t{1} << call; }

inline void require_few(const recording& calls) {
  if (calls.size() <= most_calls) return;
  throw std::invalid_argument("a history of " + std::to_string(calls.size()) +
                              " calls is too long to search");
}

/// The order in which calls returned and began. For real threads, and for explored executions that
/// are sequentially consistent.
inline precedence real_time_order(const recording& calls) {
  require_few(calls);
  precedence before(calls.size(), 0);
  for (std::size_t later = 0; later < calls.size(); ++later) {
    for (std::size_t earlier = 0; earlier < calls.size(); ++earlier) {
      if (calls[earlier].responded < calls[later].invoked) before[later] |= bit(earlier);
    }
  }
  return before;
}

/// The order that the threads themselves can know of. For explored executions under the C++ memory
/// model, where there is no common time: a thread may read an old value long after another thread's
/// call has returned, unless something tells it of that call. What tells it is its own program, the
/// start and the end of threads (calls of a lower phase precede those of a higher one), and the
/// items that it takes: whatever precedes the push of an item precedes what follows its take.
inline precedence causal_order(const recording& calls) {
  require_few(calls);
  precedence before(calls.size(), 0);
  for (std::size_t later = 0; later < calls.size(); ++later) {
    for (std::size_t earlier = 0; earlier < calls.size(); ++earlier) {
      const operation& first = calls[earlier];
      const operation& second = calls[later];
      if (first.phase < second.phase ||
          (first.thread == second.thread && first.responded < second.invoked)) {
        before[later] |= bit(earlier);
      }
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    const auto add = [&](std::size_t call, std::uint64_t more) {
      changed |= (more & ~before[call]) != 0;
      before[call] |= more;
    };
    for (std::size_t take = 0; take < calls.size(); ++take) {
      for (std::size_t later = 0; later < calls.size(); ++later) {
        if (!(before[later] & bit(take))) continue;
        add(later, before[take]);
        for (std::size_t push = 0; takes(calls[take]) && push < calls.size(); ++push) {
          if (puts(calls[push]) && calls[push].value == calls[take].value) {
            add(later, before[push]);
          }
        }
      }
    }
  }
  return before;
}

/// Text with a line for each call, in the order of invocation. Values are numbered in the order in
/// which they were pushed; one that never was is a '?'.
inline std::string describe(recording calls) {
  constexpr const char* call_names[] = {"push", "pop", "steal", "maybe_nonempty"};
  constexpr const char* outcome_names[] = {"ok", "full", "item", "empty", "contended", "true"};
  std::stable_sort(calls.begin(), calls.end(), [](const operation& left, const operation& right) {
    return left.invoked < right.invoked;
  });
  std::map<std::uint64_t, std::string> names;
  for (const operation& call : calls) {
    if (call.what == call::push) names.emplace(call.value, std::to_string(names.size() + 1));
  }
  std::string text;
  for (const operation& call : calls) {
    const auto name = names.find(call.value);
    const std::string value = " " + (name == names.end() ? "?" : name->second);
    text += "  thread " + std::to_string(call.thread) + " from " + std::to_string(call.invoked) +
            " to " + std::to_string(call.responded) + ": " +
            call_names[static_cast<int>(call.what)] + (call.what == call::push ? value : "") +
            " -> " + outcome_names[static_cast<int>(call.result)] + (takes(call) ? value : "") +
            "\n";
  }
  return text;
}

}  // namespace heddle::history
