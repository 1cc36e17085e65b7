#pragma once

#include <bit>
#include <unordered_set>
#include <utility>

#include <history/history.hpp>

namespace heddle::history {

/// What a queue of some specification holds. For `fifo_per_producer` the items of a producer stand
/// together, so that states that nobody can tell apart are equal.
class queue_state {
 public:
  /// Does what the call did; false when it cannot have had that outcome here.
  bool apply(const operation& call, const specification& promised, bool alone) {
    switch (call.result) {
      case outcome::ok:
        if (promised.capacity_slots != 0 && items_.size() >= promised.capacity_slots) return false;
        put(call, promised.order);
        return true;
      case outcome::full:
        return promised.capacity_slots != 0 &&
               (items_.size() >= fewest_when_full(promised) || may_be_false(promised, call, alone));
      case outcome::empty:
        return items_.empty() || may_be_false(promised, call, alone);
      case outcome::item:
        return take(call, promised);
      default:
        return true;
    }
  }

  std::uint64_t hash() const {
    std::uint64_t sum = items_.size();
    for (const item& item : items_) sum = std::rotl(sum, 7) * 0x9e3779b97f4a7c15 + item.value;
    return sum;
  }

  bool operator==(const queue_state&) const = default;

 private:
  struct item {
    std::uint32_t producer;
    std::uint64_t value;
    bool operator==(const item&) const = default;
  };
  using place = std::vector<item>::iterator;

  void put(const operation& call, queue_order order) {
    place at = items_.end();
    if (order == queue_order::fifo_per_producer) {
      at = std::find_if(items_.begin(), items_.end(),
                        [&call](const item& item) { return item.producer > call.thread; });
    }
    items_.insert(at, {call.thread, call.value});
  }

  bool take(const operation& call, const specification& promised) {
    const place at = std::find_if(items_.begin(), items_.end(),
                                  [&call](const item& item) { return item.value == call.value; });
    if (at == items_.end() || !may_come_next(at, call, promised)) return false;
    items_.erase(at);
    return true;
  }

  bool may_come_next(place at, const operation& call, const specification& promised) {
    const auto ahead = static_cast<std::size_t>(at - items_.begin());
    switch (promised.order) {
      case queue_order::fifo:
        return ahead == 0;
      case queue_order::fifo_per_producer:
        return ahead == 0 || (at - 1)->producer != at->producer;
      case queue_order::lifo_owner_fifo_thief:
        return call.what == call::steal ? ahead == 0 : at + 1 == items_.end();
      case queue_order::relaxed:
        return promised.relaxation == 0 || ahead < promised.relaxation;
    }
    return false;
  }

  std::vector<item> items_;
};

/// Search for an order of the calls that respects `before` and in which each has the outcome that
/// the specification gives it.
///
/// Source: J. M. Wing, C. Gong, "Testing and verifying concurrent objects", JPDC 1993, with the
///         memory of G. Lowe, "Testing for linearizability", CCPE 2017: of two prefixes that have
///         the same calls and leave the same state only one is continued. Bit sets stand in for
///         Lowe's list of entries, since the precedence of explored executions is a partial order
///         that no times describe.
/// Complexity: exponential in the number of calls that overlap.
class linearization {
 public:
  linearization(const recording& calls, const specification& promised, const precedence& before)
      : calls_(calls), promised_(promised), before_(before) {
    for (std::size_t call = 0; call < calls.size(); ++call) {
      if (!constrains(calls[call])) unconstrained_ |= bit(call);
      alone_.push_back(overlapped_by(call) == 0);
    }
  }

  bool exists() { return extend(unconstrained_, {}); }

  /// How many of the calls that constrain something could be ordered at most.
  std::size_t longest_prefix() const { return longest_prefix_; }

 private:
  struct prefix {
    std::uint64_t done;
    queue_state state;
    bool operator==(const prefix&) const = default;
  };
  struct prefix_hash {
    std::size_t operator()(const prefix& prefix) const {
      return (prefix.done ^ prefix.state.hash()) * 0x9e3779b97f4a7c15 >> 16;
    }
  };

  static bool constrains(const operation& call) {
    return call.what != call::look && call.result != outcome::contended;
  }

  std::uint64_t overlapped_by(std::size_t call) const {
    std::uint64_t found = 0;
    for (std::size_t other = 0; other < calls_.size(); ++other) {
      if (other == call || (before_[call] & bit(other)) || (before_[other] & bit(call))) continue;
      found |= bit(other);
    }
    return found;
  }

  bool extend(std::uint64_t done, const queue_state& state) {
    const auto count = static_cast<std::size_t>(std::popcount(done & ~unconstrained_));
    longest_prefix_ = std::max(longest_prefix_, count);
    if (static_cast<std::size_t>(std::popcount(done)) == calls_.size()) return true;
    if (!seen_.insert({done, state}).second) return false;
    for (std::size_t call = 0; call < calls_.size(); ++call) {
      if ((done & bit(call)) || (before_[call] & ~done)) continue;
      queue_state next = state;
      if (next.apply(calls_[call], promised_, alone_[call]) && extend(done | bit(call), next)) {
        return true;
      }
    }
    return false;
  }

  const recording& calls_;
  const specification& promised_;
  const precedence& before_;
  std::uint64_t unconstrained_ = 0;
  std::vector<bool> alone_;
  std::size_t longest_prefix_ = 0;
  std::unordered_set<prefix, prefix_hash> seen_;
};

/// A look that found nothing proves that each push that precedes it was followed by a take, at
/// least by one that had begun.
inline bool looks_are_true(const recording& calls, const precedence& before) {
  for (std::size_t look = 0; look < calls.size(); ++look) {
    if (calls[look].what != call::look || calls[look].result != outcome::empty) continue;
    for (std::size_t push = 0; push < calls.size(); ++push) {
      if (!puts(calls[push]) || !(before[look] & bit(push))) continue;
      bool taken = false;
      for (std::size_t take = 0; take < calls.size(); ++take) {
        taken |= takes(calls[take]) && calls[take].value == calls[push].value &&
                 !(before[take] & bit(look));
      }
      if (!taken) return false;
    }
  }
  return true;
}

/// Whether the calls, ordered as far as `before` knows, are linearizable. `contended` constrains
/// nothing.
/// Errors: std::invalid_argument for more than `most_calls` calls.
inline verdict check(const recording& calls, const specification& promised,
                     const precedence& before) {
  require_few(calls);
  if (!looks_are_true(calls, before)) {
    return {false, "maybe_nonempty was false while a completed push waited:\n" + describe(calls)};
  }
  linearization order(calls, promised, before);
  if (order.exists()) return {};
  return {false, "not linearizable; at most " + std::to_string(order.longest_prefix()) +
                     " calls can be ordered:\n" + describe(calls)};
}

inline verdict check(const recording& calls, const specification& promised) {
  return check(calls, promised, real_time_order(calls));
}

}  // namespace heddle::history
