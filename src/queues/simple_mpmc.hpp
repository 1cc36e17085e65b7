#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <heddle/base/assert.hpp>
#include <heddle/base/cache_line.hpp>
#include <heddle/queues/queue_traits.hpp>

namespace heddle {

/// Linked list whose first node is a dummy; nodes come from a pool and are named by index, so that
/// a link and its modification count fit one 64-bit word.
///
/// Source:   M. M. Michael, M. L. Scott, "Simple, fast, and practical non-blocking and blocking
///           concurrent queue algorithms", PODC 1996. Free list: R. K. Treiber, IBM RJ 5118, 1986.
/// Threads:  every operation any.
/// Progress: lock-free, but for the allocator when the pool grows.
/// Capacity: none; try_push never answers full, may allocate, and throws std::bad_alloc, also at
///           2^32 - 64 nodes of 32 bytes. The pool doubles by chunks and shrinks only when the
///           queue dies. A handle keeps up to 64 free nodes, so that it rarely meets the others at
///           the shared free list.
/// Empty:    strict.
/// Errata:   try_pop looks at head again before it believes the dummy's link, else the link of a
///           reused node passes for an empty queue (libfev; same class as ponyc#5820). A link's
///           count survives the reuse of its node (boostorg/lockfree#59). The claim of head
///           releases (libcds#186). Counts have 32 bits: a thread that stalls between its look and
///           its exchange while exactly 2^32 changes pass is fooled.
///
/// Synchronisation: [linked] carries the item, its node and the node's chunk to whoever follows a
/// link, head or tail; [moved] tells who sees a reused node that head and tail have left it;
/// [freed] carries free nodes between handles, [grown] new chunks between those who make them.
struct simple_mpmc {
  static constexpr queue_traits traits{.allocates = true};

  template <class T, class Platform>
  class type;
};

template <class T, class Platform>
class simple_mpmc::type {
  static_assert(sizeof(T) <= sizeof(void*) && std::is_trivially_copyable_v<T>);
  using index = std::uint32_t;
  using link = std::uint64_t;  ///< index in the lower half, modification count in the upper

  static constexpr index none = ~index{0};
  static constexpr index batch_nodes = explored<Platform> ? 2 : 32;

  /// Free nodes, linked through next_free.
  struct batch {
    index first = none;
    index size = 0;
  };

 public:
  /// Keeps the nodes that this thread freed last: the one in use, and a whole batch in reserve, so
  /// that a thread that pushes and pops around a batch's edge does not pass batches to and fro.
  class handle {
   public:
    explicit handle(type& queue) : queue_(queue) {}
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;
    ~handle() {
      if (current_.first != none) queue_.put_batch(current_);
      if (reserve_.first != none) queue_.put_batch(reserve_);
    }

   private:
    friend class type;

    index take() {
      if (current_.first == none) [[unlikely]] {
        current_ = reserve_.first != none ? std::exchange(reserve_, {}) : queue_.take_batch();
      }
      const index taken = current_.first;
      current_.first = queue_.at(taken).next_free.load();
      --current_.size;
      return taken;
    }

    void give(index freed) {
      if (current_.size == batch_nodes) [[unlikely]] {
        if (reserve_.first != none) queue_.put_batch(reserve_);
        reserve_ = std::exchange(current_, {});
      }
      queue_.at(freed).next_free.store(current_.first);
      current_.first = freed;
      ++current_.size;
    }

    type& queue_;
    batch current_;
    batch reserve_;
  };

  explicit type(const queue_options& options) {
    // relaxed: whoever hands the queue to other threads orders its construction before their use.
    const auto count = static_cast<std::uint32_t>(options.first_index);
    const batch nodes = take_batch();
    head_.store(make_link(nodes.first, count), std::memory_order_relaxed);
    tail_.store(make_link(nodes.first, count), std::memory_order_relaxed);
    put_batch({at(nodes.first).next_free.load(), nodes.size - 1});
  }

  ~type() {
    for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
  }

  /// Errors: std::bad_alloc; the item is then not in the queue.
  push_result try_push(T item, handle& handle) {
    const index pushed = handle.take();
    node& node = at(pushed);
    // relaxed: [linked] publishes it. Atomic, since one that will lose its claim may be reading.
    node.item.store(item, std::memory_order_relaxed);
    // relaxed load: this thread owns the node. [moved] release → acquire of a dummy's or a last
    // node's link: head and tail left this node before it could be taken again. The count goes on.
    const link old = node.next.load(std::memory_order_relaxed);
    node.next.store(make_link(none, count_of(old)), std::memory_order_release);
    for (;;) {
      // [linked] acquire ← release of a tail.
      link tail = tail_.load(std::memory_order_acquire);
      auto& last = at(index_of(tail)).next;
      link next = last.load(std::memory_order_acquire);  // [linked] and [moved] acquire.
      // relaxed: if `next` is from a later life of the node, [moved] makes the newer tail visible.
      if (tail != tail_.load(std::memory_order_relaxed)) continue;
      if (index_of(next) != none) {
        advance(tail_, tail, next);
        continue;
      }
      // [linked] release → acquire of a link. relaxed on failure: the loop looks again.
      const link linked = make_link(pushed, count_of(next) + 1);
      if (last.compare_exchange_strong(next, linked, std::memory_order_release,
                                       std::memory_order_relaxed)) {
        // When this fails, another thread has moved tail past the node on our behalf.
        advance(tail_, tail, linked);
        return push_result::ok;
      }
    }
  }

  pop_result<T> try_pop(handle& handle) {
    for (;;) {
      // [linked] acquire ← release of a head; tail is then not behind head.
      const link head = head_.load(std::memory_order_acquire);
      const link tail = tail_.load(std::memory_order_acquire);  // [linked] acquire ← a tail.
      const link next = at(index_of(head)).next.load(std::memory_order_acquire);  // as in try_push.
      // relaxed: as in try_push. From here on, `next` was read while its node was the dummy.
      if (head != head_.load(std::memory_order_relaxed)) continue;
      if (index_of(head) == index_of(tail)) {
        if (index_of(next) == none) return {};
        advance(tail_, tail, next);  // A pusher has linked its node and not moved tail: help.
        continue;
      }
      HEDDLE_ASSERT(index_of(next) != none);
      // Before the claim, since afterwards the node may be reused. relaxed: [linked] made the item
      // visible; when it is already that of a later life, head has moved and the claim fails.
      const T item = at(index_of(next)).item.load(std::memory_order_relaxed);
      if (advance(head_, head, next)) {
        handle.give(index_of(head));
        return {pop_status::item, item};
      }
    }
  }

  /// A caller that must not miss an item stands after a seq_cst fence, as with every queue.
  bool maybe_nonempty() const { return approximate_size() != 0; }

  /// Each push moves tail once and each pop head, so the size is the difference of their counts. A
  /// push that has linked its node and not moved tail has not completed, and is not counted.
  std::size_t approximate_size() const {
    // [linked] acquire, and head before tail: the difference is not negative. relaxed: no node is
    // read.
    const link head = head_.load(std::memory_order_acquire);
    const link tail = tail_.load(std::memory_order_relaxed);
    return static_cast<std::uint32_t>(count_of(tail) - count_of(head));
  }

  std::size_t capacity() const { return 0; }

 private:
  template <class Value>
  using atomic = typename Platform::template atomic<Value>;
  template <class Value>
  using cell = typename Platform::template cell<Value>;

  static constexpr index first_chunk_nodes = explored<Platform> ? 4 : 64;

  struct node {
    atomic<link> next{make_link(none, 0)};
    atomic<T> item{};
    // While the node is free: the next one in its batch and, in the first of a batch, what the
    // shared free list knows of the batch. next_batch is read before the claim succeeds.
    cell<index> next_free{none};
    cell<index> batch_size{0};
    atomic<index> next_batch{none};
  };

  static constexpr link make_link(index to, std::uint32_t count) { return link{count} << 32 | to; }
  static constexpr index index_of(link link) { return static_cast<index>(link); }
  static constexpr std::uint32_t count_of(link link) {
    return static_cast<std::uint32_t>(link >> 32);
  }

  /// Advances head or tail to the node that `next` names, unless another thread has done so.
  static bool advance(atomic<link>& end, link from, link next) {
    // [linked] release → acquire of head and tail: this thread has seen the node, and what moved
    // the ends so far. relaxed on failure: nothing follows from the value.
    return end.compare_exchange_strong(from, make_link(index_of(next), count_of(from) + 1),
                                       std::memory_order_release, std::memory_order_relaxed);
  }

  /// Node i stands at place i + first_chunk_nodes, and a chunk holds the places with the same
  /// highest bit: in each later one twice as many as in the one before.
  static constexpr std::uint32_t place_of(index index) { return index + first_chunk_nodes; }
  static constexpr unsigned highest_bit_of(std::uint32_t place) {
    return 31u - static_cast<unsigned>(std::countl_zero(place | 1));  // | 1 spares a check for zero
  }

  node& at(index index) const {
    const std::uint32_t place = place_of(index);
    const unsigned highest = highest_bit_of(place);
    // relaxed: an index is learnt from a batch that this thread made, or by [linked] or [freed],
    // all of which come after the chunk was published.
    node* chunk = chunks_[highest].load(std::memory_order_relaxed);
    return chunk[place ^ (std::uint32_t{1} << highest)];
  }

  /// Batch from the shared free list, else of nodes that were never used.
  batch take_batch() {
    // [freed] acquire ← release in put_batch, on failure too.
    link free = free_.load(std::memory_order_acquire);
    while (index_of(free) != none) {
      node& first = at(index_of(free));
      // relaxed: [freed] made it visible; when the batch has left the list, the claim fails.
      const index next = first.next_batch.load(std::memory_order_relaxed);
      if (free_.compare_exchange_weak(free, make_link(next, count_of(free) + 1),
                                      std::memory_order_acquire, std::memory_order_acquire)) {
        return {index_of(free), first.batch_size.load()};
      }
    }
    return take_unused();
  }

  void put_batch(batch batch) {
    node& first = at(batch.first);
    first.batch_size.store(batch.size);
    link free = free_.load(std::memory_order_relaxed);  // relaxed: nothing is read through it.
    do {
      first.next_batch.store(index_of(free), std::memory_order_relaxed);  // [freed] publishes it.
      // [freed] release → acquire in take_batch: links, sizes, and this thread's last looks.
    } while (!free_.compare_exchange_weak(free, make_link(batch.first, count_of(free) + 1),
                                          std::memory_order_release, std::memory_order_relaxed));
  }

  batch take_unused() {
    index first = unused_.load(std::memory_order_relaxed);  // relaxed: a guess.
    do {
      if (first > none - first_chunk_nodes - batch_nodes) throw std::bad_alloc();
      make_chunk_of(first);
      // relaxed: it only hands out indices.
    } while (!unused_.compare_exchange_weak(first, first + batch_nodes, std::memory_order_relaxed,
                                            std::memory_order_relaxed));
    for (index index = first; index + 1 != first + batch_nodes; ++index) {
      at(index).next_free.store(index + 1);
    }
    return {first, batch_nodes};
  }

  /// Makes sure that the chunk of node `index` exists. Of several threads that try, one succeeds.
  void make_chunk_of(index index) {
    const std::uint32_t place = place_of(index);
    atomic<node*>& chunk = chunks_[highest_bit_of(place)];
    // [grown] acquire ← release below: the nodes are initialised.
    if (chunk.load(std::memory_order_acquire)) return;
    auto made = std::make_unique<node[]>(std::bit_floor(place));
    node* absent = nullptr;
    // [grown] release → acquire above and on failure.
    if (chunk.compare_exchange_strong(absent, made.get(), std::memory_order_release,
                                      std::memory_order_acquire)) {
      made.release();
    }
  }

  // Written when the pool grows.
  std::array<atomic<node*>, 32> chunks_{};
  atomic<index> unused_{0};
  // Written when handles exchange batches.
  alignas(cache_line_bytes) atomic<link> free_{make_link(none, 0)};
  // Written by producers.
  alignas(cache_line_bytes) atomic<link> tail_;
  // Written by consumers.
  alignas(cache_line_bytes) atomic<link> head_;
};

static_assert(run_queue<simple_mpmc::type<void*, native>, void*>);

}  // namespace heddle
