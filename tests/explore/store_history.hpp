#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <explore/location.hpp>
#include <explore/options.hpp>
#include <explore/seq_cst_order.hpp>
#include <explore/vector_clock.hpp>

namespace heddle::explore {

/// What an operation wants to do to an atomic.
struct access {
  bool reads = false;
  bool writes = false;
  /// A compare-exchange: writes only when it reads `expected`; else it is a load of order
  /// `failure`.
  bool conditional = false;
  std::uint64_t expected = 0;
  std::memory_order order = std::memory_order_seq_cst;
  std::memory_order failure = std::memory_order_seq_cst;
};

/// The atomics' side of the memory model.
///
/// Each atomic has its stores in modification order. A load may read any store that coherence
/// allows; a store may take any place in modification order that coherence allows, also before
/// stores that were executed earlier; an update stands right behind the store it read, and nothing
/// comes between. Choices that would make the seq_cst order cyclic are left out. With these choices
/// the executions are those of C++20 in which no load depends on a later store of its own future:
/// "happens before" and "reads from" together have no cycle, so each execution can be built in an
/// order in which stores come before the loads that read them.
class store_history {
 public:
  explicit store_history(memory model) : weak_(model == memory::c11) {}

  void clear() noexcept {
    used_ = 0;
    order_.clear();
  }

  const store_event& at(std::uint32_t store) const noexcept { return stores_[store]; }
  const store_event& last(const location& where) const noexcept {
    return stores_[where.order.back()];
  }
  /// From here on the seq_cst order is not kept.
  bool order_is_full() const noexcept { return order_.full(); }

  /// Positions in modification order that the access may read from, or put its store behind; the
  /// last one first. Reads only stores with a stamp above `fresh`.
  void candidates(const location& where, const thread_clocks& clocks, const access& wanted,
                  std::uint64_t fresh, std::vector<std::uint32_t>& found) {
    found.clear();
    const auto last = static_cast<std::uint32_t>(where.order.size() - 1);
    for (std::uint32_t position = last;; --position) {
      const store_event& store = stores_[where.order[position]];
      const bool writes = wanted.writes && (!wanted.conditional || store.value == wanted.expected);
      const bool taken = writes && position < last && stores_[where.order[position + 1]].update;
      if (!taken && (!wanted.reads || store.stamp > fresh) &&
          (position == last || consistent(where, clocks, wanted, writes, position))) {
        found.push_back(position);
      }
      if (!weak_ || position == 0 || seen(store, clocks.now)) return;
    }
  }

  /// Reads the store at `position`, as the event that `clocks` has begun.
  /// Returns the number of the store.
  std::uint32_t read(location& where, thread_clocks& clocks, std::uint32_t position,
                     std::memory_order order, bool writes) {
    const std::uint32_t number = where.order[position];
    store_event& store = stores_[number];
    (acquires(order) ? clocks.now : clocks.acquired).join(store.sync);
    std::uint32_t& first = store.first_reads[clocks.thread];
    if (first == 0) first = clocks.time();
    if (!writes && weak_) {
      const int in_order = enter(where, clocks, order, position, false);
      where.reads.push_back({number, clocks.thread, clocks.time(), clocks.now, in_order});
    }
    return number;
  }

  /// Puts a store behind `position`. `read` is what an update read, else nullptr.
  void write(location& where, const thread_clocks& clocks, std::uint32_t position,
             std::memory_order order, std::uint64_t value, bool update, std::uint64_t stamp,
             std::uint32_t step) {
    const std::uint32_t number = make_store();
    store_event& made = stores_[number];
    made.value = value;
    made.thread = clocks.thread;
    made.time = clocks.time();
    made.at = clocks.now;
    made.sync = releases(order) ? clocks.now : clocks.released;
    // A release sequence goes on through updates, and through nothing else since C++20.
    if (update) made.sync.join(stores_[where.order[position]].sync);
    made.update = update;
    made.stamp = stamp;
    made.step = step;
    made.first_reads.fill(0);
    made.in_order = weak_ ? enter(where, clocks, order, position, true) : seq_cst_order::none;
    insert(where, number, position + 1);
  }

  /// The initialisation, which is no atomic operation.
  void initialise(location& where, const thread_clocks& clocks, std::uint64_t value,
                  std::uint64_t stamp, std::uint32_t step) {
    where.order.clear();
    where.reads.clear();
    const std::uint32_t number = make_store();
    store_event& made = stores_[number];
    made = store_event{};
    made.value = value;
    made.thread = clocks.thread;
    made.time = clocks.time();
    made.at = clocks.now;
    made.stamp = stamp;
    made.step = step;
    insert(where, number, 0);
  }

  void fence(thread_clocks& clocks, std::memory_order order, const std::vector<location>& locations,
             std::size_t used) {
    if (acquires(order)) clocks.now.join(clocks.acquired);
    if (releases(order)) clocks.released = clocks.now;
    if (order == std::memory_order_seq_cst && weak_) enter_fence(clocks, locations, used);
  }

 private:
  static constexpr int cycle = -2;

  static bool seen(const store_event& store, const vector_clock& now) noexcept {
    if (now.knows(store.thread, store.time)) return true;
    for (unsigned thread = 0; thread < most_threads; ++thread) {
      const std::uint32_t time = store.first_reads[thread];
      if (time != 0 && now.knows(thread, time)) return true;
    }
    return false;
  }

  std::uint32_t make_store() {
    if (used_ == stores_.size()) stores_.emplace_back();
    return static_cast<std::uint32_t>(used_++);
  }

  void insert(location& where, std::uint32_t number, std::uint32_t position) {
    where.order.insert(where.order.begin() + position, number);
    for (std::size_t index = position; index < where.order.size(); ++index) {
      stores_[where.order[index]].position = static_cast<std::uint32_t>(index);
    }
  }

  /// Whether the access may read from, or stand behind, a position that is not the last.
  bool consistent(const location& where, thread_clocks clocks, const access& wanted, bool writes,
                  std::uint32_t position) {
    const std::memory_order order = wanted.conditional && !writes ? wanted.failure : wanted.order;
    if (order_.empty()) return true;  // the cycle would go through an earlier member
    clocks.tick();
    if (wanted.reads && acquires(order)) clocks.now.join(stores_[where.order[position]].sync);
    order_.save();
    const bool fits = enter(where, clocks, order, position, writes) != cycle;
    order_.restore();
    return fits;
  }

  /// Adds an operation to the seq_cst order, if it is seq_cst, and what follows for the order from
  /// its place: behind the store at `position` and, when it writes, behind the reads of that.
  int enter(const location& where, const thread_clocks& clocks, std::memory_order order,
            std::uint32_t position, bool writes) {
    const bool member = order == std::memory_order_seq_cst;
    if (order_.full() || (!member && order_.empty())) return seq_cst_order::none;
    const int self =
        member ? order_.add(clocks.thread, clocks.time(), clocks.before, clocks.now, false)
               : seq_cst_order::none;
    seq_cst_order::set only;
    if (member) only.set(static_cast<unsigned>(self));
    const seq_cst_order::set first = order_.upto(self, clocks.now);
    bool fits = true;
    for (std::size_t index = 0; index < where.order.size(); ++index) {
      const store_event& other = stores_[where.order[index]];
      if (index > position) {
        fits = fits && order_.order(first, order_.from(other.in_order, other.thread, other.time));
      } else if (member) {
        fits = fits && order_.order(order_.upto(other.in_order, other.at), only);
      }
    }
    for (const read_event& other : where.reads) {
      const std::uint32_t place = stores_[other.store].position;
      if (place > position) {
        fits = fits && order_.order(first, order_.from(other.in_order, other.thread, other.time));
      } else if (member && (place < position || writes)) {
        fits = fits && order_.order(order_.upto(other.in_order, other.at), only);
      }
    }
    return fits ? self : cycle;
  }

  /// A fence stands behind all that is coherence-ordered before what happens before the fence.
  void enter_fence(const thread_clocks& clocks, const std::vector<location>& locations,
                   std::size_t used) {
    if (order_.full()) return;
    const int self = order_.add(clocks.thread, clocks.time(), clocks.before, clocks.now, true);
    seq_cst_order::set only;
    only.set(static_cast<unsigned>(self));
    for (std::size_t index = 0; self != 0 && index < used; ++index) {
      const location& where = locations[index];
      if (where.order.size() < 2) continue;
      // Twice the position of what happens before the fence, plus 1 for a read; stores below it,
      // and reads below its position, come earlier.
      std::uint32_t bound = 0;
      for (const std::uint32_t number : where.order) {
        const store_event& store = stores_[number];
        if (clocks.now.knows(store.thread, store.time)) bound = 2 * store.position;
      }
      for (const read_event& read : where.reads) {
        if (clocks.now.knows(read.thread, read.time)) {
          bound = std::max(bound, 2 * stores_[read.store].position + 1);
        }
      }
      for (const std::uint32_t number : where.order) {
        const store_event& store = stores_[number];
        if (2 * store.position < bound) order_.order(order_.upto(store.in_order, store.at), only);
      }
      for (const read_event& read : where.reads) {
        if (stores_[read.store].position < bound / 2) {
          order_.order(order_.upto(read.in_order, read.at), only);
        }
      }
    }
  }

  const bool weak_;
  std::vector<store_event> stores_;
  std::size_t used_ = 0;
  seq_cst_order order_;
};

}  // namespace heddle::explore
