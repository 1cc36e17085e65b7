#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <heddle/base/assert.hpp>
#include <heddle/base/cache_line.hpp>
#include <heddle/queues/line_spread.hpp>
#include <heddle/queues/queue_traits.hpp>

namespace heddle {

/// Ring of indices of at most `capacity` values: a fetch-and-add gives each push and each pop a
/// position; an entry of one word says which lap used it last, what index it holds, and whether
/// the pop of its lap may still come. The part of which scq is made.
///
/// Pushes and pops that meet at the wrong moment go on to the next position. That ends, since there
/// are twice as many entries as indices, and since pops give up after `threshold` failures: so many
/// that the item of the last push has been passed, or was never there.
///
/// Synchronisation: [entry] carries an index, and what stands behind it, from its push to its pop,
/// and tells a push of pops that have gone; [popped] lets whoever sees a pop see the pushes that
/// its thread had seen; and one store–load pair keeps pops from giving up too early:
///
///   push                                      pop
///   entry.exchange(index)                     threshold.fetch_sub(1)
///   fence(seq_cst)                            fence(seq_cst)
///   threshold.load(): still at its height?    entry.load(), at the next attempt
///
/// Either the push sees that the threshold has fallen and raises it, or the pop sees the item.
template <class Platform>
class index_ring {
  using word = std::uint64_t;
  using distance = std::int64_t;  ///< a difference that may have wrapped around
  template <class Value>
  using atomic = typename Platform::template atomic<Value>;

 public:
  using position = std::uint64_t;
  static constexpr std::size_t none = ~std::size_t{0};

  /// Indices 0 to `filled` - 1 are inside. `threshold` as in try_push.
  index_ring(std::size_t capacity, position first, std::size_t filled, distance threshold)
      : index_mask_(2 * capacity - 1),
        slot_of_(2 * capacity, sizeof(entries_[0])),
        entries_(std::make_unique<atomic<word>[]>(2 * capacity)),
        tail_(first + filled),
        head_(first),
        threshold_(filled == 0 ? -1 : threshold) {
    // relaxed: whoever hands the queue to other threads orders its construction before their use.
    for (position offset = 0; offset <= index_mask_; ++offset) {
      const position at = first + offset;
      const word entry = offset < filled ? lap_of(at) | safe() | offset
                                         : lap_of(at - 2 * capacity) | safe() | index_mask_;
      entries_[slot_of_(at)].store(entry, std::memory_order_relaxed);
    }
  }

  /// Never fails. `threshold()` is asked for anew after the push: twice the capacity, plus the
  /// number of threads that may be inside try_pop, minus one.
  template <class Threshold>
  void push(std::size_t index, const Threshold& threshold) {
    for (;;) {
      // relaxed: it only hands out positions; [popped] shows them to who must see them.
      const position at = tail_.fetch_add(1, std::memory_order_relaxed);
      atomic<word>& entry = entries_[slot_of_(at)];
      word seen = entry.load(std::memory_order_acquire);  // [entry] acquire ← release in try_pop.
      while (ahead_of(seen, at) < 0 && (seen & index_mask_) == index_mask_ &&
             // relaxed: who made the entry unsafe had moved the head before, by [entry].
             ((seen & safe()) != 0 ||
              static_cast<distance>(head_.load(std::memory_order_relaxed) - at) <= 0)) {
        // [entry] release → acquire in try_pop. acquire on failure: as above.
        if (entry.compare_exchange_weak(seen, lap_of(at) | safe() | index,
                                        std::memory_order_release, std::memory_order_acquire)) {
          raise(threshold);
          return;
        }
      }
    }
  }

  /// `none`: the ring was empty for a moment.
  std::size_t try_pop() {
    // relaxed: a push that this thread knows of has raised it, or found it high enough.
    if (threshold_.load(std::memory_order_relaxed) < 0) return none;
    for (;;) {
      // [popped] release → acquire here and in size(); [entry] carries it to pushes.
      const position at = head_.fetch_add(1, std::memory_order_acq_rel);
      const std::size_t index = take(entries_[slot_of_(at)], at);
      if (index != none) return index;
      // relaxed: [popped], and whatever told this thread of a push.
      const position tail = tail_.load(std::memory_order_relaxed);
      const bool overtaken = static_cast<distance>(tail - (at + 1)) <= 0;
      if (overtaken) catch_up(tail, at + 1);
      // acq_rel: who gives up because of it has seen what this thread had seen.
      const distance left = threshold_.fetch_sub(1, std::memory_order_acq_rel);
      Platform::fence_after_update();  // The right column.
      if (overtaken || left <= 0) return none;
    }
  }

  /// Positions that a push has and no pop. A push that has completed is seen by who must see it, so
  /// 0 proves that the ring was empty.
  std::size_t size() const {
    // [popped] acquire ← release in try_pop, and this one first: the difference is then negative
    // only when pops have run ahead of the pushes.
    const position head = head_.load(std::memory_order_acquire);
    // relaxed: [popped], and whatever told the caller of a push.
    const distance size = tail_.load(std::memory_order_relaxed) - head;
    return size <= 0 ? 0 : static_cast<std::size_t>(size);
  }

 private:
  // An entry, from its lowest bit: the index, or all ones; one bit "safe"; the lap. A lap is a
  // position without what names its entry, moved up by the bit of "safe"; so laps have one bit less
  // than positions, and are compared as numbers that wrap around.
  word safe() const { return index_mask_ + 1; }
  word lap_mask() const { return ~(2 * index_mask_ + 1); }
  word lap_of(position at) const { return (at << 1) & lap_mask(); }
  distance ahead_of(word entry, position at) const {
    return static_cast<distance>((entry & lap_mask()) - lap_of(at));
  }

  /// The pop at `at`, in its own entry.
  std::size_t take(atomic<word>& entry, position at) {
    word seen = entry.load(std::memory_order_acquire);  // [entry] acquire ← release in push.
    for (;;) {
      const distance ahead = ahead_of(seen, at);
      const word index = seen & index_mask_;
      if (ahead == 0) {
        HEDDLE_ASSERT(index != index_mask_);
        // All ones, by addition, since meanwhile later pops may make the entry unsafe. relaxed:
        // nothing is behind it; as a read-modify-write it continues what they release.
        entry.fetch_add(index_mask_ - index, std::memory_order_relaxed);
        return index;
      }
      if (ahead > 0) return none;
      // Empty: pushes of this lap come too late. An index whose pop is late: unsafe for this lap.
      // Also when it is so already: the push must see that this pop has gone, too.
      const word passed =
          index == index_mask_ ? lap_of(at) | (seen & safe()) | index_mask_ : seen & ~safe();
      // [entry] release → acquire in push: this pop's position has been taken from the head.
      // acquire on failure: as above.
      if (entry.compare_exchange_weak(seen, passed, std::memory_order_release,
                                      std::memory_order_acquire)) {
        return none;
      }
    }
  }

  /// After a push: lets pops look until they have come to its entry.
  template <class Threshold>
  void raise(const Threshold& threshold) {
    Platform::fence_after_update();  // The left column.
    for (distance height = threshold();;) {
      // relaxed, both: the fences order them.
      if (threshold_.load(std::memory_order_relaxed) >= height) return;
      threshold_.store(height, std::memory_order_relaxed);
      // Whoever became a popper meanwhile counts, too, unless it sees the entry.
      Platform::fence(std::memory_order_seq_cst);
      const distance again = threshold();
      if (again <= height) return;
      height = again;
    }
  }

  /// Pops have overtaken the pushes: lets the next push begin where a pop can still come.
  void catch_up(position tail, position head) {
    // relaxed: as read-modify-writes of the tail they continue what others have released, and an
    // old head is only low.
    while (!tail_.compare_exchange_weak(tail, head, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
      head = head_.load(std::memory_order_relaxed);
      if (static_cast<distance>(tail - head) >= 0) return;
    }
  }

  // Written by the constructor only.
  const word index_mask_;
  const line_spread slot_of_;
  const std::unique_ptr<atomic<word>[]> entries_;
  // Written by pushes.
  alignas(cache_line_bytes) atomic<position> tail_;
  // Written by pops.
  alignas(cache_line_bytes) atomic<position> head_;
  // Written by pops that find nothing, and by pushes after them.
  alignas(cache_line_bytes) atomic<distance> threshold_;
};

/// Bounded queue of two rings of indices: one holds those of free slots, the other those of items.
///
/// Source:   R. Nikolaev, "A scalable, portable, and memory-efficient lock-free FIFO queue", DISC
///           2019.
/// Threads:  every operation any.
/// Progress: lock-free.
/// Capacity: power of two, 2 to 2^20, default 4096; else std::invalid_argument. 40 bytes a slot:
///           4096 slots are 160 KiB.
/// Empty:    strict.
/// Full:     spurious: a consumer that stalls before it gives its index back keeps a slot.
/// Errata:   the paper's threshold, three times the capacity minus one, holds for at most as many
///           threads as slots; with more of them pops give up too early, and an item stays unseen
///           until the next push. Here it grows with the number of handles. Pops acquire the
///           positions of others (oneTBB#782). A slot is used again only after an acquire that
///           follows its last reader's release (concurrentqueue#404), and laps are compared as
///           numbers that wrap around (concurrentqueue#119), at 2^63 positions.
struct scq {
  static constexpr queue_traits traits{
      .full = truth::spurious,
      .bounded = true,
      .smallest_capacity = 2,
      .largest_capacity = std::size_t{1} << 20,
      .default_capacity = 4096,
      .power_of_two_capacity = true,
  };

  template <class T, class Platform>
  class type;
};

template <class T, class Platform>
class scq::type {
  static_assert(sizeof(T) <= sizeof(void*) && std::is_trivially_copyable_v<T>);

 public:
  /// Counted: see raise() of index_ring.
  class handle {
   public:
    explicit handle(type& queue) : queue_(queue) {
      queue_.handles_.fetch_add(1, std::memory_order_relaxed);  // relaxed: the fence orders it.
      Platform::fence_after_update();                           // As the right column.
    }
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;
    // release: its last pop comes before.
    ~handle() { queue_.handles_.fetch_sub(1, std::memory_order_release); }

   private:
    type& queue_;
  };

  explicit type(const queue_options& options)
      : capacity_(checked_capacity(traits, options, "scq")),
        items_(std::make_unique<cell[]>(capacity_)),
        free_(capacity_, options.first_index, capacity_, threshold()),
        filled_(capacity_, options.first_index, 0, threshold()) {}

  push_result try_push(T item, handle&) {
    const std::size_t index = free_.try_pop();
    if (index == none) return push_result::full;
    items_[index].store(item);
    filled_.push(index, [this] { return threshold(); });
    return push_result::ok;
  }

  pop_result<T> try_pop(handle&) {
    const std::size_t index = filled_.try_pop();
    if (index == none) return {};
    const T item = items_[index].load();
    free_.push(index, [this] { return threshold(); });
    return {pop_status::item, item};
  }

  /// A caller that must not miss an item stands after a seq_cst fence, as with every queue.
  bool maybe_nonempty() const { return filled_.size() != 0; }

  std::size_t approximate_size() const { return std::min(filled_.size(), capacity_); }
  std::size_t capacity() const { return capacity_; }

 private:
  using cell = typename Platform::template cell<T>;
  static constexpr std::size_t none = index_ring<Platform>::none;

  std::int64_t threshold() const {
    // acquire ← release in ~handle. A handle that is made meanwhile is seen by raise().
    const std::size_t handles = handles_.load(std::memory_order_acquire);
    return static_cast<std::int64_t>(2 * capacity_ + std::max(capacity_, handles) - 1);
  }

  // Written by the constructor only.
  const std::size_t capacity_;
  const std::unique_ptr<cell[]> items_;
  // Written when handles come and go.
  typename Platform::template atomic<std::size_t> handles_{0};
  index_ring<Platform> free_;
  index_ring<Platform> filled_;
};

static_assert(run_queue<scq::type<void*, native>, void*>);

}  // namespace heddle
