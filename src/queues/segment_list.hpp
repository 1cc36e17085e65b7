#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include <heddle/base/cache_line.hpp>
#include <heddle/queues/queue_traits.hpp>
#include <heddle/queues/reclamation.hpp>

namespace heddle {

/// Base of a segment of segment_list.
template <class Segment, class Platform>
struct linked_segment : retirable<Segment, Platform> {
  explicit linked_segment(std::uint64_t number) : number(number) {}

  const std::uint64_t number;  ///< counts the segments of one list
  typename Platform::template atomic<Segment*> next{nullptr};
};

/// Unbounded queue of bounded ones: a list of segments, each of which takes items until it closes
/// for good; then the next one is linked, with the item inside that found no place.
///
/// A segment derives from linked_segment and has
///   Segment(number, options)
///   try_push(item, identity)  full: closed, and every later try_push is too. No two calls that
///                             overlap have the same identity, an even address
///   try_pop()                 empty: it was so for a moment
///   size()                    items, more or less; 0 when it is empty and no call is under way
///   segment_slots             the most that it holds
///
/// Synchronisation: [linked] carries a segment, and that its predecessor is closed, to whoever
/// follows a link or reads an end of the list.
///
/// Errata:   what the first try_pop found empty may have been filled before it closed: a segment
///           is left only after a second look that began when its successor was seen (the first
///           printing of LCRQ, Morrison and Afek, PPoPP 2013, had one look). The last segment's
///           pointer leaves a segment before it is retired, else a pusher would find it there
///           (same class as crossbeam#238).
template <class T, class Segment, class Reclamation, class Platform>
class segment_list {
  using domain = typename Reclamation::template domain<Segment, Platform>;
  using participant = typename domain::participant;
  using guard = typename domain::guard;
  static_assert(reclamation<Reclamation, Segment, Platform>);

 public:
  class handle {
   public:
    explicit handle(segment_list& queue) : participant_(queue.domain_) {}

   private:
    friend class segment_list;
    participant participant_;
  };

  explicit segment_list(const queue_options& options) : options_(options) {
    auto* only = new Segment(0, options_);
    // relaxed: whoever hands the queue to other threads orders its construction before their use.
    first_.store(only, std::memory_order_relaxed);
    last_.store(only, std::memory_order_relaxed);
  }
  segment_list(const segment_list&) = delete;
  segment_list& operator=(const segment_list&) = delete;

  ~segment_list() {
    // relaxed: whoever destroys a queue orders its use before.
    Segment* segment = first_.load(std::memory_order_relaxed);
    while (segment) delete std::exchange(segment, segment->next.load(std::memory_order_relaxed));
  }

  /// Errors: std::bad_alloc; the item is then not in the queue.
  push_result try_push(T item, handle& handle) {
    const guard guard(handle.participant_);
    for (;;) {
      Segment* const last = guard.protect(last_slot, last_);  // [linked] acquire.
      if (last->try_push(item, handle.participant_.identity()) == push_result::ok) break;
      if (append(*last, item, handle)) break;
    }
    return push_result::ok;
  }

  pop_result<T> try_pop(handle& handle) {
    const guard guard(handle.participant_);
    for (;;) {
      Segment* const first = guard.protect(first_slot, first_);  // [linked] acquire.
      if (const auto popped = first->try_pop()) return popped;
      // [linked] acquire ← release in append.
      Segment* const next = first->next.load(std::memory_order_acquire);
      if (!next) return {};
      if (const auto popped = first->try_pop()) return popped;
      leave(*first, *next, handle);
    }
  }

  /// A caller that must not miss an item stands after a seq_cst fence, as with every queue.
  /// Errors: std::bad_alloc, when more threads look at once than ever before.
  bool maybe_nonempty() const {
    participant observer(domain_);
    const guard guard(observer);
    const Segment* const first = guard.protect(first_slot, first_);  // [linked] acquire.
    // A segment is linked with an item inside, and all of its items are gone before it is left.
    return first->size() != 0 || first->next.load(std::memory_order_acquire) != nullptr;
  }

  /// Counts the segments between the first and the last as full.
  std::size_t approximate_size() const {
    participant observer(domain_);
    const guard guard(observer);
    // [linked] acquire, and the first before the last: the difference is not negative.
    const Segment* const first = guard.protect(first_slot, first_);
    const Segment* const last = guard.protect(last_slot, last_);
    if (first == last) return first->size();
    const std::uint64_t between = last->number - first->number - 1;
    return first->size() + between * Segment::segment_slots + last->size();
  }

  std::size_t capacity() const { return 0; }

 private:
  using link = typename Platform::template atomic<Segment*>;

  static constexpr std::size_t first_slot = 0;
  static constexpr std::size_t last_slot = 1;

  /// `last` is closed: links a new segment with the item, unless another thread has linked one, and
  /// moves last_. True: the item is in.
  bool append(Segment& last, T item, handle& handle) {
    Segment* next = last.next.load(std::memory_order_acquire);  // [linked] acquire.
    bool appended = false;
    if (!next) {
      auto made = std::make_unique<Segment>(last.number + 1, options_);
      made->try_push(item, handle.participant_.identity());
      // [linked] release → acquire of `next`. acquire on failure: as above.
      appended = last.next.compare_exchange_strong(next, made.get(), std::memory_order_release,
                                                   std::memory_order_acquire);
      if (appended) next = made.release();
    }
    advance(last_, last, *next);
    return appended;
  }

  /// `first` is closed and empty: moves first_ past it and retires it, unless another thread has.
  void leave(Segment& first, Segment& next, handle& handle) {
    // relaxed: by [linked] this thread has seen that last_ was not behind `first`, so it sees
    // either `first` here, or what cannot be moved back to it.
    if (last_.load(std::memory_order_relaxed) == &first) advance(last_, first, next);
    if (advance(first_, first, next)) handle.participant_.retire(&first);
  }

  /// Moves an end of the list from a segment to the next one, unless another thread has done so.
  static bool advance(link& end, Segment& from, Segment& to) {
    Segment* expected = &from;
    // [linked] release → acquire in protect: the segment, and what moved the ends so far. relaxed
    // on failure: nothing follows from the value.
    return end.compare_exchange_strong(expected, &to, std::memory_order_release,
                                       std::memory_order_relaxed);
  }

  // Written by the constructor only, but for the records.
  const queue_options options_;
  mutable domain domain_;
  // Written by producers.
  alignas(cache_line_bytes) link last_;
  // Written by consumers.
  alignas(cache_line_bytes) link first_;
};

}  // namespace heddle
