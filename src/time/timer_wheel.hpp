#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <heddle/base/assert.hpp>
#include <heddle/base/clock.hpp>

namespace heddle {

/// Links of a circular list: each list of a timer wheel runs through one that is no timer.
struct timer_links {
  timer_links* next = nullptr;
  timer_links* previous = nullptr;
};

/// One pending time-out. It lives in the frame of the fiber that waits and is not moved while
/// armed; remove it before it dies, or before the wheel does.
struct timer : timer_links {
  timer() = default;
  explicit timer(void (*on_expiry)(timer&) noexcept) : expired(on_expiry) {}
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;
  ~timer() { HEDDLE_ASSERT(!armed()); }

  /// In a wheel. Reads what insert, remove and advance write: same lock.
  bool armed() const { return next != nullptr; }

  std::uint64_t deadline_ns = 0;
  void (*expired)(timer&) noexcept = nullptr;  // for the callback of advance; the wheel ignores it
};

/// The timers of one worker, made for time-outs that nearly always are cancelled.
/// Source:     Varghese and Lauck 1987, scheme 7; the level is found as in Tokio's wheel.
/// Threads:    one at a time; the caller holds a lock.
/// Complexity: insert and remove constant. advance visits occupied slots only, and moves a timer at
///             most once a level in all; one call handles a bounded number. Nothing allocates.
/// Precision:  a deadline is rounded up to a tick of 8.192 us; no timer fires before its deadline.
///
/// Read a tick number in base 64: one level a digit, one slot a value of it. A timer stands at the
/// level of the highest digit in which its tick differs from the wheel's position, in the slot of
/// its own digit there. Hence, and because all ticks in slots are greater than the position:
///   - in its level, an occupied slot stands after the position's own digit: slots never wrap;
///   - every timer of a level is due before every timer of a higher level.
/// So the first occupied slot of the lowest occupied level holds the earliest timer, and the move
/// of the position to any tick before that slot keeps every timer where it belongs.
class timer_wheel {
 public:
  static constexpr unsigned tick_bits = 13;
  static constexpr std::uint64_t tick_ns = std::uint64_t{1} << tick_bits;
  static constexpr std::size_t levels = 9;  // digits of 6 bits for 64 - 13 bits and a carry

  explicit timer_wheel(std::uint64_t now_ns) : now_ns_(now_ns), position_(last_tick_until(now_ns)) {
    for (timer_links& list : lists_) list.next = list.previous = &list;
  }
  timer_wheel(const timer_wheel&) = delete;
  timer_wheel& operator=(const timer_wheel&) = delete;

  /// Arms a timer that is not armed. A deadline not after the time of the latest advance fires at
  /// the next one; inside a callback that is not the advance under way. `never_ns` counts as
  /// `never_ns - 1`.
  void insert(timer& timer, std::uint64_t deadline_ns) noexcept {
    HEDDLE_ASSERT(!timer.armed());
    timer.deadline_ns = std::min(deadline_ns, last_deadline_ns);
    link(timer, timer.deadline_ns <= now_ns_ ? overdue : slot_of(due_tick(timer)));
    ++size_;
  }

  /// Disarms a timer of this wheel; false if it was not armed.
  bool remove(timer& timer) noexcept {
    if (!timer.armed()) return false;
    unlink(timer);
    --size_;
    return true;
  }

  /// When to advance next: never later than the earliest deadline rounded up to a tick; 0 if a
  /// timer is overdue; `never_ns` without timers. It may be earlier than any deadline, where a slot
  /// is to be spread over the levels below: at most `levels - 1` times for a timer.
  std::uint64_t next_deadline_ns() const noexcept {
    if (occupied_[levels]) return 0;
    const std::size_t slot = first_slot();
    if (slot == none) return never_ns;
    const timer_links& list = lists_[slot];
    // Only one timer: its own tick, which spares an idle worker the early wake-ups.
    const bool alone = list.next == list.previous;
    return start_ns(alone ? due_tick(static_cast<const timer&>(*list.next)) : start_tick(slot));
  }

  /// Takes out timers whose tick has come and calls `on_expired(timer&)`, which may destroy the
  /// timer, insert and remove any, and must neither throw nor advance. Overdue timers come first,
  /// then the order is that of ticks, and of insertion within a tick. Returns the number of calls.
  /// An earlier time than before counts as no change. So that the caller's lock is never held for
  /// long, a call takes out or moves `most_timers` (1 or more) at most; the next one goes on, and
  /// next_deadline_ns asks for it at once.
  template <class F>
  std::size_t advance(std::uint64_t now_ns, F&& on_expired, std::size_t most_timers = 1024) {
    now_ns_ = std::max(now_ns_, now_ns);
    const std::uint64_t now_tick = last_tick_until(now_ns_);
    std::size_t left = most_timers;
    std::size_t count = 0;
    // A callback may add to the overdue list; those wait for the next advance.
    if (!has_timers(firing) && has_timers(overdue)) move_all(overdue, firing);
    count += fire_all(firing, left, on_expired);
    while (left > 0) {
      const std::size_t slot = first_slot();
      if (slot == none || start_tick(slot) > now_tick) {
        position_ = now_tick;
        break;
      }
      position_ = start_tick(slot);
      // A callback cannot add to the slot that fires: what it inserts is overdue or due later. A
      // slot is spread without callbacks, or a new timer would pass an older one of the same tick.
      if (slot < slots)
        count += fire_all(slot, left, on_expired);
      else
        spread(slot, left);
    }
    return count;
  }

  /// Takes out each timer that `chosen(const timer&)` accepts and calls `on_removed(timer&)`, which
  /// may destroy it. Neither may touch the wheel. Linear in the number of timers.
  template <class Chosen, class F>
  void remove_if(Chosen&& chosen, F&& on_removed) {
    for (timer_links& list : lists_) {
      for (timer_links* at = list.next; at != &list;) {
        timer& armed = static_cast<timer&>(*std::exchange(at, at->next));
        if (!chosen(static_cast<const timer&>(armed))) continue;
        remove(armed);
        on_removed(armed);
      }
    }
  }

  /// Armed timers.
  std::size_t size() const noexcept { return size_; }

 private:
  static constexpr unsigned digit_bits = 6;
  static constexpr std::size_t slots = std::size_t{1} << digit_bits;
  static constexpr std::size_t overdue = levels * slots;  // lists behind those of the slots:
  static constexpr std::size_t firing = overdue + 1;      // overdue ones of the advance under way
  static constexpr std::size_t none = firing + 1;
  // The tick after the last whole one has a time of its own, since 2^64 ns is none.
  static constexpr std::uint64_t last_deadline_ns = never_ns - 1;
  static constexpr std::uint64_t last_tick = std::uint64_t{1} << (64 - tick_bits);

  static constexpr std::uint64_t last_tick_until(std::uint64_t time_ns) {
    return time_ns >= last_deadline_ns ? last_tick : time_ns >> tick_bits;
  }
  static constexpr std::uint64_t start_ns(std::uint64_t tick) {
    return tick == last_tick ? last_deadline_ns : tick << tick_bits;
  }
  static std::uint64_t due_tick(const timer& timer) {
    return (timer.deadline_ns >> tick_bits) + ((timer.deadline_ns & (tick_ns - 1)) != 0);
  }

  /// Where a tick belongs that is not before the position; the position's own stands in level 0.
  std::size_t slot_of(std::uint64_t tick) const {
    HEDDLE_ASSERT(tick >= position_);
    // With the 1, which changes no other level, an equal tick gets level 0.
    const auto highest_bit = 63U - static_cast<unsigned>(std::countl_zero((tick ^ position_) | 1));
    const unsigned level = highest_bit / digit_bits;
    return level * slots + (tick >> (level * digit_bits)) % slots;
  }

  /// The first tick of an occupied slot.
  std::uint64_t start_tick(std::size_t slot) const {
    const unsigned shift = static_cast<unsigned>(slot / slots) * digit_bits;
    return ((position_ >> shift >> digit_bits << digit_bits) | slot % slots) << shift;
  }

  std::size_t first_slot() const {
    if (spreading_ != none && has_timers(spreading_)) return spreading_;
    for (std::size_t level = 0; level != levels; ++level)
      if (const std::uint64_t bits = occupied_[level])
        return level * slots + static_cast<std::size_t>(std::countr_zero(bits));
    return none;
  }

  bool has_timers(std::size_t list) const { return lists_[list].next != &lists_[list]; }

  void mark_occupied(std::size_t list) {
    occupied_[list / slots] |= std::uint64_t{1} << (list % slots);
  }
  void mark_empty(std::size_t list) {
    occupied_[list / slots] &= ~(std::uint64_t{1} << (list % slots));
  }

  void link(timer& timer, std::size_t list) {
    timer_links& end = lists_[list];
    timer.next = &end;
    timer.previous = end.previous;
    end.previous->next = &timer;
    end.previous = &timer;
    mark_occupied(list);
  }

  void unlink(timer& timer) {
    timer_links* const next = timer.next;
    timer_links* const previous = timer.previous;
    next->previous = previous;
    previous->next = next;
    timer.next = nullptr;
    // The same on both sides: the end of a list without another timer. Its place names the list.
    if (next == previous) mark_empty(static_cast<std::size_t>(next - lists_.data()));
  }

  void move_all(std::size_t from, std::size_t to) {
    HEDDLE_ASSERT(has_timers(from) && !has_timers(to));
    lists_[to] = lists_[from];
    lists_[to].next->previous = lists_[to].previous->next = &lists_[to];
    lists_[from].next = lists_[from].previous = &lists_[from];
    mark_empty(from);
    mark_occupied(to);
  }

  template <class F>
  std::size_t fire_all(std::size_t list, std::size_t& left, F& on_expired) {
    std::size_t count = 0;
    for (; left > 0 && has_timers(list); --left, ++count) {
      timer& first = static_cast<timer&>(*lists_[list].next);
      unlink(first);
      --size_;
      on_expired(first);
    }
    return count;
  }

  /// Moves the timers of a slot at whose start the position stands to lower levels.
  void spread(std::size_t slot, std::size_t& left) {
    for (; left > 0 && has_timers(slot); --left) {
      timer& first = static_cast<timer&>(*lists_[slot].next);
      unlink(first);
      link(first, slot_of(due_tick(first)));
    }
    spreading_ = has_timers(slot) ? slot : none;
  }

  std::uint64_t now_ns_;    // of the latest advance
  std::uint64_t position_;  // a tick: that of now_ns_, or behind it while timers wait to be fired
  std::size_t spreading_ = none;  // the slot that the latest advance left half spread, if any
  std::size_t size_ = 0;
  std::array<std::uint64_t, levels + 1> occupied_{};  // a bit a list: set while it has timers
  std::array<timer_links, none> lists_;
};

}  // namespace heddle
