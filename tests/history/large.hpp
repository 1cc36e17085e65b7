#pragma once

#include <limits>
#include <numeric>
#include <unordered_map>

#include <history/history.hpp>

namespace heddle::history {

/// How far from the front the taken items were: an item's rank error is the number of others that
/// certainly stood before it when it was taken, since their push had returned before its own began,
/// and their take began after its own had returned. The true distance may be larger.
struct rank_errors {
  std::size_t taken = 0;
  std::size_t largest = 0;
  double mean = 0;
};

/// What happened to one item.
struct item_life {
  static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

  operation push{};
  operation take{.invoked = never, .responded = never};

  bool taken() const { return take.responded != never; }
};

/// Periods of time in which some number of items was certainly inside, or certainly not, as
/// half-open intervals. A call from `invoked` to `responded` lasts from 2 * invoked to
/// 2 * responded + 1, so that calls with equal times overlap.
class periods {
 public:
  struct period {
    std::uint64_t from;
    std::uint64_t to;
  };

  static std::uint64_t start(const operation& call) { return 2 * call.invoked; }
  static std::uint64_t end(const operation& call) { return 2 * call.responded + 1; }

  /// The longest periods during which `holds(number of intervals around this time)`.
  template <class Predicate>
  periods(const std::vector<period>& intervals, const Predicate& holds) {
    std::map<std::uint64_t, std::int64_t> changes;
    for (const period& interval : intervals) {
      if (interval.from >= interval.to) continue;
      ++changes[interval.from];
      --changes[interval.to];
    }
    std::int64_t count = 0;
    bool inside = holds(count);
    std::uint64_t since = 0;
    for (const auto& [at, change] : changes) {
      count += change;
      if (holds(count) == inside) continue;
      if (inside) found_.push_back({since, at});
      inside = !inside;
      since = at;
    }
    if (inside) found_.push_back({since, item_life::never});
  }

  bool any() const { return !found_.empty(); }

  /// Whether the whole call lies in one period.
  bool cover(const operation& call) const {
    const auto after = std::upper_bound(
        found_.begin(), found_.end(), start(call),
        [](std::uint64_t time, const period& period) { return time < period.from; });
    return after != found_.begin() && end(call) < (after - 1)->to;
  }

 private:
  std::vector<period> found_;  // in order; no two touch
};

/// Check of a history whose pushed values are all different, as long as memory allows.
///
/// For an unbounded FIFO with strict answers it is exact. The source proves that a complete history
/// of one is not linearizable only if it shows one of five patterns: an item was taken that was not
/// pushed, or before its push began; or twice; or one was taken although an older one came out
/// later or never; or "empty" was said while items were inside all the time. For other
/// specifications the patterns that apply are looked for, and that bounds are kept, as far as the
/// times prove it: what is found is wrong, what passes need not be right.
///
/// Source: T. A. Henzinger, A. Sezgin, V. Vafeiadis, "Aspect-oriented linearizability proofs",
///         CONCUR 2013; A. Bouajjani, M. Emmi, C. Enea, J. Hamza, "On reducing linearizability to
///         state reachability", ICALP 2015.
/// Complexity: O(n log n).
class large_history {
 public:
  explicit large_history(const recording& calls) : calls_(calls) {
    for (const operation& call : calls) {
      if (!puts(call)) continue;
      item_life life;
      life.push = call;
      if (!items_.emplace(call.value, life).second) {
        throw std::invalid_argument("a value was pushed twice");
      }
    }
    for (const operation& call : calls) {
      if (!takes(call) || problem_.size() != 0) continue;
      const auto found = items_.find(call.value);
      if (found == items_.end()) {
        complain("was never pushed", {call});
      } else if (found->second.taken()) {
        complain("was taken twice", {found->second.push, found->second.take, call});
      } else {
        found->second.take = call;
        if (call.responded < found->second.push.invoked) {
          complain("was taken before its push began", {found->second.push, call});
        }
      }
    }
  }

  verdict check(const specification& promised) {
    if (problem_.empty()) check_order(promised);
    if (problem_.empty()) check_size(promised);
    return {problem_.empty(), problem_};
  }

  /// Of all items together, whoever pushed them.
  rank_errors measure_rank_errors() const {
    std::vector<item_life> items;
    for (const auto& [value, life] : items_) items.push_back(life);
    const std::vector<std::size_t> errors = rank_errors_of(items);
    rank_errors sum;
    for (std::size_t item = 0; item < items.size(); ++item) {
      if (!items[item].taken()) continue;
      ++sum.taken;
      sum.largest = std::max(sum.largest, errors[item]);
      sum.mean += static_cast<double>(errors[item]);
    }
    if (sum.taken != 0) sum.mean /= static_cast<double>(sum.taken);
    return sum;
  }

 private:
  /// Sorts `items` by the beginning of their pushes. Returns the rank error of each that was taken.
  static std::vector<std::size_t> rank_errors_of(std::vector<item_life>& items) {
    const auto sorted_places = [&items](const auto& key) {
      std::vector<std::size_t> places(items.size());
      std::iota(places.begin(), places.end(), std::size_t{0});
      std::sort(places.begin(), places.end(), [&](std::size_t left, std::size_t right) {
        return key(items[left]) < key(items[right]);
      });
      return places;
    };
    const auto pushed = [](const item_life& item) { return item.push.responded; };
    const auto take_began = [](const item_life& item) { return item.take.invoked; };
    std::sort(items.begin(), items.end(), [](const item_life& left, const item_life& right) {
      return left.push.invoked < right.push.invoked;
    });
    const std::vector<std::size_t> by_push = sorted_places(pushed);
    const std::vector<std::size_t> by_take = sorted_places(take_began);
    std::vector<std::size_t> rank_of_take(items.size());
    for (std::size_t rank = 0; rank < items.size(); ++rank) rank_of_take[by_take[rank]] = rank;

    // A Fenwick tree over the ranks of takes counts the items that were pushed so far.
    std::vector<std::size_t> tree(items.size() + 1, 0);
    std::size_t older = 0;
    std::vector<std::size_t> errors(items.size(), 0);
    for (std::size_t item = 0; item < items.size(); ++item) {
      for (; older < items.size() && pushed(items[by_push[older]]) < items[item].push.invoked;
           ++older) {
        for (std::size_t at = rank_of_take[by_push[older]] + 1; at <= items.size();
             at += at & -at) {
          ++tree[at];
        }
      }
      if (!items[item].taken()) continue;
      const auto later =
          std::partition_point(by_take.begin(), by_take.end(), [&](std::size_t other) {
            return take_began(items[other]) <= items[item].take.responded;
          });
      errors[item] = older;
      for (auto at = static_cast<std::size_t>(later - by_take.begin()); at > 0; at -= at & -at) {
        errors[item] -= tree[at];
      }
    }
    return errors;
  }

  void check_order(const specification& promised) {
    const bool relaxed = promised.order == queue_order::relaxed;
    if (promised.order == queue_order::lifo_owner_fifo_thief) return;
    if (relaxed && promised.relaxation == 0) return;
    std::map<std::uint32_t, std::vector<item_life>> lanes;
    for (const auto& [value, life] : items_) {
      lanes[promised.order == queue_order::fifo_per_producer ? life.push.thread : 0].push_back(
          life);
    }
    const std::size_t allowed = relaxed ? promised.relaxation - 1 : 0;
    for (auto& [producer, items] : lanes) {
      const std::vector<std::size_t> errors = rank_errors_of(items);
      const auto worst = std::max_element(errors.begin(), errors.end());
      if (worst == errors.end() || *worst <= allowed) continue;
      const item_life& early = items[static_cast<std::size_t>(worst - errors.begin())];
      const auto late = std::find_if(items.begin(), items.end(), [&early](const item_life& item) {
        return item.push.responded < early.push.invoked && item.take.invoked > early.take.responded;
      });
      recording involved{late->push, early.push, early.take};
      if (late->taken()) involved.push_back(late->take);
      return complain("overtook " + std::to_string(*worst) + " older ones", involved);
    }
  }

  void check_size(const specification& promised) {
    std::vector<periods::period> certainly_inside, possibly_inside;
    for (const auto& [value, life] : items_) {
      const std::uint64_t taken = life.taken() ? periods::end(life.take) + 1 : item_life::never;
      const std::uint64_t leaves = life.taken() ? periods::start(life.take) : item_life::never;
      certainly_inside.push_back({periods::end(life.push), leaves});
      possibly_inside.push_back({periods::start(life.push), taken});
    }
    const auto capacity = static_cast<std::int64_t>(promised.capacity_slots);
    const periods nonempty(certainly_inside, [](std::int64_t count) { return count > 0; });
    const auto full = static_cast<std::int64_t>(fewest_when_full(promised));
    const periods room(possibly_inside, [&](std::int64_t count) { return count < full; });
    const periods excess(certainly_inside,
                         [&](std::int64_t count) { return capacity != 0 && count > capacity; });
    if (excess.any()) problem_ = "more items inside than the capacity";
    const std::vector<bool> alone = alone_of_all();
    for (std::size_t at = 0; at < calls_.size(); ++at) {
      const operation& call = calls_[at];
      if (call.what == call::look) continue;
      if (call.result == outcome::empty && !may_be_false(promised, call, alone[at]) &&
          nonempty.cover(call)) {
        return complain("\"empty\" while items were inside all the time", {call});
      }
      if (call.result == outcome::full && capacity == 0) {
        return complain("an unbounded queue was full", {call});
      }
      if (call.result == outcome::full && !may_be_false(promised, call, alone[at]) &&
          room.cover(call)) {
        return complain("\"full\" while there was room all the time", {call});
      }
    }
  }

  /// Whether no other call overlaps, for each.
  std::vector<bool> alone_of_all() const {
    std::vector<std::size_t> by_start(calls_.size());
    std::iota(by_start.begin(), by_start.end(), std::size_t{0});
    std::sort(by_start.begin(), by_start.end(), [this](std::size_t left, std::size_t right) {
      return calls_[left].invoked < calls_[right].invoked;
    });
    std::vector<bool> alone(calls_.size());
    std::uint64_t earlier_end = 0;
    for (std::size_t at = 0; at < by_start.size(); ++at) {
      const operation& call = calls_[by_start[at]];
      const bool last = at + 1 == by_start.size();
      alone[by_start[at]] = (at == 0 || earlier_end < periods::start(call)) &&
                            (last || periods::end(call) < periods::start(calls_[by_start[at + 1]]));
      earlier_end = std::max(earlier_end, periods::end(call));
    }
    return alone;
  }

  void complain(const std::string& what, const recording& involved) {
    problem_ = what + ":\n" + describe(involved);
  }

  const recording& calls_;
  std::unordered_map<std::uint64_t, item_life> items_;
  std::string problem_;
};

inline verdict check_large(const recording& calls, const specification& promised) {
  return large_history(calls).check(promised);
}

}  // namespace heddle::history
