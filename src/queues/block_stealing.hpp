#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <heddle/base/assert.hpp>
#include <heddle/base/cache_line.hpp>
#include <heddle/queues/queue_traits.hpp>

namespace heddle {

/// Ring of blocks of one worker. The owner fills blocks one after the other; where it pops, it
/// takes over what is left of a whole block in one step, and then pops without a read-modify-write,
/// while thieves take from the blocks behind that one.
///
/// Source:   J. Wang, B. Trach, M. Fu, D. Behrens, J. Schwender, Y. Liu, J. Lei, V. Vafeiadis,
///           H. Härtig, H. Chen, "BWoS: Formally verified block-based work stealing for parallel
///           processing", OSDI 2023, its FIFO form. What differs is under "Built".
/// Threads:  try_push, try_pop and publish_hidden owner only; try_steal any.
/// Progress: push wait-free, pop lock-free. try_steal claims once, and answers `contended` when
///           another thread was faster.
/// Capacity: power of two, 4 to 2^16, default 256; else std::invalid_argument. Eight blocks, fewer
///           if small. A block is reused as a whole: one item may make the queue full.
/// Order:    the owner pops in push order, and a thief takes those of one block in push order.
///           Thieves pass over what the owner has taken over, so a younger item may leave first.
/// Empty:    strict for the owner; for a thief: nothing was there but what the owner hides.
/// Hidden:   what is left of a block that was taken over. Only one with younger items behind it is
///           (the paper: any), so thieves have others then, and what is pushed can be stolen at
///           once. publish_hidden gives it back; to its end the owner then pops as thieves do.
/// Built:    the paper counts, per block, entries claimed and entries read, and reuses a block when
///           all readers are done. Here an element is one word, read before its claim, which fails
///           when the block was reused: one counter is enough, and no thief that stalls keeps a
///           block busy. The paper's thieves share a position; here they look from the owner's
///           block on, at most at all of them.
/// Errata:   of ports to C++ (stdexec#1755, #1967): the thieves' position moved to a block that the
///           owner had taken back meanwhile, so that its items were passed over for good, or
///           claimed in the block's next life. Here there is no such position, and a claim names
///           the block's number, new in each life: its 32 bits fool a thief that stalls while
///           exactly 2^32 blocks pass. An exhausted block does not end a thief's look
///           (stdexec#1968).
///
/// Synchronisation: [entered] carries a block's new life, [written] its items; [claimed] frees
/// slots; [returned] gives a block back to thieves; [counted] keeps the size from being too small.
struct block_stealing {
  static constexpr queue_traits traits{
      .push = role::owner,
      .pop = role::owner,
      .order = queue_order::relaxed,
      .bounded = true,
      .smallest_capacity = 4,
      .largest_capacity = std::size_t{1} << 16,
      .default_capacity = 256,
      .power_of_two_capacity = true,
      .exact_capacity = false,
      .every_item_stealable = false,
  };

  template <class T, class Platform>
  class type;
};

template <class T, class Platform>
class block_stealing::type {
  static_assert(sizeof(T) <= sizeof(void*) && std::is_trivially_copyable_v<T>);

 public:
  using handle = stateless_handle;

  explicit type(const queue_options& options)
      : capacity_(checked_capacity(traits, options, "block_stealing")),
        blocks_count_(std::min<std::size_t>(most_blocks, capacity_ / 2)),
        block_slots_(static_cast<index>(capacity_ / blocks_count_)),
        blocks_(std::make_unique<block[]>(blocks_count_)),
        slots_(std::make_unique<slot[]>(capacity_)),
        producer_(options.first_index),
        consumer_(options.first_index) {
    enter(options.first_index);
  }

  /// Owner only.
  push_result try_push(T item, handle&) {
    if (written_ == block_slots_ && !enter_next_block()) return push_result::full;
    // relaxed, as everywhere that the owner loads producer_, consumer_ or a slot: it wrote them.
    const position at = producer_.load(std::memory_order_relaxed);
    // relaxed: [written] publishes both. Atomic, since a thief that will lose its claim may read
    // the slot. The count comes first, so that no item is claimed before it is counted.
    pushed_.store(++pushes_, std::memory_order_relaxed);
    slot_at(at, written_).store(item, std::memory_order_relaxed);
    // [written] release → acquire in try_steal.
    block_at(at).written.store(word_of(at, ++written_), std::memory_order_release);
    return push_result::ok;
  }

  /// Owner only.
  pop_result<T> try_pop(handle&) {
    if (owned_) return {pop_status::item, pop_owned()};
    for (;;) {
      const position at = consumer_.load(std::memory_order_relaxed);
      // [claimed] acquire ← release of a thief's claim: it has read its slot.
      const word seen = block_at(at).claimed.load(std::memory_order_acquire);
      const index first = index_of(seen);
      const bool filling = at == producer_.load(std::memory_order_relaxed);
      const index end = filling ? written_ : block_slots_;
      if (first == end) {
        if (filling) return {};
        leave_block(at);
      } else if (!filling && !shared_ && end - first > 1 && younger_are_there()) {
        take_over(at);
        if (owned_) return {pop_status::item, pop_owned()};
      } else {
        const T item = slot_at(at, first).load(std::memory_order_relaxed);
        if (!claim(at, seen)) continue;
        count_pop();
        return {pop_status::item, item};
      }
    }
  }

  /// Threads: any. Complexity: linear in the number of blocks.
  pop_result<T> try_steal(handle&) {
    pop_result<T> result;
    look_at_blocks([&](position at, word seen) {
      // relaxed: [written] made it visible. In the block's next life, the claim fails.
      result.item = slot_at(at, index_of(seen)).load(std::memory_order_relaxed);
      result.status = claim(at, seen) ? pop_status::item : pop_status::contended;
    });
    // [counted] release → acquire in approximate_size: this thread has seen the push counted.
    if (result) stolen_.fetch_add(1, std::memory_order_release);
    return result;
  }

  /// Owner only. True: there are items, and thieves can take them all.
  bool publish_hidden(handle&) {
    if (owned_) give_back();
    shared_ = true;
    return maybe_nonempty();
  }

  bool maybe_stealable() const {
    bool found = false;
    look_at_blocks([&](position, word) { found = true; });
    return found;
  }

  /// A caller that must not miss an item stands after a seq_cst fence, as with every queue.
  bool maybe_nonempty() const { return approximate_size() != 0; }
  std::size_t approximate_size() const {
    // [counted] acquire, and what has left before what has come: the difference is not negative,
    // but may exceed the capacity. relaxed: no slot is read.
    const std::uint64_t stolen = stolen_.load(std::memory_order_acquire);
    const std::uint64_t popped = popped_.load(std::memory_order_acquire);
    const std::uint64_t pushed = pushed_.load(std::memory_order_relaxed);
    return std::min<std::size_t>(pushed - popped - stolen, capacity_);
  }

  std::size_t capacity() const { return capacity_; }

 private:
  using index = std::uint32_t;     ///< of a slot in its block
  using position = std::uint64_t;  ///< number of a block; the ring's blocks live again and again
  using word = std::uint64_t;      ///< the number's lower half above, an index below
  template <class Value>
  using atomic = typename Platform::template atomic<Value>;
  using slot = atomic<T>;

  static constexpr std::size_t most_blocks = 8;

  struct block {
    /// Slots filled; written by the owner.
    alignas(cache_line_bytes) atomic<word> written{0};
    /// Slots that thieves may not take: those that have been, or all while the owner has the block.
    alignas(cache_line_bytes) atomic<word> claimed{0};
  };

  static constexpr word word_of(position at, index index) { return at << 32 | index; }
  static constexpr index index_of(word word) { return static_cast<index>(word); }
  static constexpr bool same_life(word one, word other) { return (one ^ other) >> 32 == 0; }

  block& block_at(position at) const { return blocks_[at & (blocks_count_ - 1)]; }
  slot& slot_at(position at, index index) const {
    return slots_[(at & (blocks_count_ - 1)) * block_slots_ + index];
  }

  /// Calls found(number, its word of claims) for the first block with an item for thieves.
  template <class Found>
  void look_at_blocks(Found found) const {
    // [entered] acquire ← release of consumer_, then of producer_: `last` is not behind `at`.
    position at = consumer_.load(std::memory_order_acquire);
    const position last = producer_.load(std::memory_order_acquire);
    for (; static_cast<std::int64_t>(last - at) >= 0; ++at) {
      // [entered], [returned] acquire: what is read next is of this life, or of a later one.
      const word seen = block_at(at).claimed.load(std::memory_order_acquire);
      // Of another life: all items of this one have been taken.
      if (!same_life(seen, word_of(at, 0)) || index_of(seen) == block_slots_) continue;
      // [written] acquire ← release in try_push.
      const word written = block_at(at).written.load(std::memory_order_acquire);
      if (!same_life(written, seen) || index_of(seen) == index_of(written)) continue;
      return found(at, seen);
    }
  }

  bool claim(position at, word seen) {
    // [claimed] release → acquire in try_pop, and by that in the push that enters the block again:
    // the slot is read before it is written. relaxed on failure: nothing follows from the value.
    return block_at(at).claimed.compare_exchange_strong(seen, seen + 1, std::memory_order_release,
                                                        std::memory_order_relaxed);
  }

  /// [counted] release → acquire in approximate_size: the push was counted before.
  void count_pop() { popped_.store(++pops_, std::memory_order_release); }

  T pop_owned() {
    HEDDLE_ASSERT(next_ < block_slots_);
    const position at = consumer_.load(std::memory_order_relaxed);
    const T item = slot_at(at, next_).load(std::memory_order_relaxed);
    count_pop();
    owned_ = ++next_ != block_slots_;
    return item;
  }

  /// Whether thieves have something when they lose an older block. relaxed: a hint.
  bool younger_are_there() const {
    const block& last = block_at(producer_.load(std::memory_order_relaxed));
    return index_of(last.claimed.load(std::memory_order_relaxed)) != written_;
  }

  /// Stops the thieves in the block: what they have not claimed is the owner's.
  void take_over(position at) {
    // [claimed] acquire ← release of claims: the thieves have read their slots.
    next_ = index_of(
        block_at(at).claimed.exchange(word_of(at, block_slots_), std::memory_order_acquire));
    owned_ = next_ != block_slots_;
  }

  void give_back() {
    // [returned] release → acquire of claimed: as [entered], which a plain store does not carry on.
    const position at = consumer_.load(std::memory_order_relaxed);
    block_at(at).claimed.store(word_of(at, next_), std::memory_order_release);
    owned_ = false;
  }

  void leave_block(position at) {
    shared_ = false;
    // [entered] release → acquire in look_at_blocks.
    consumer_.store(at + 1, std::memory_order_release);
  }

  /// False: the ring's next block still has items.
  bool enter_next_block() {
    const position next = producer_.load(std::memory_order_relaxed) + 1;
    for (;;) {
      const position at = consumer_.load(std::memory_order_relaxed);
      if (next - at < blocks_count_) break;
      // [claimed] acquire, as in try_pop.
      const word seen = block_at(at).claimed.load(std::memory_order_acquire);
      if (owned_ || index_of(seen) != block_slots_) return false;
      leave_block(at);
    }
    enter(next);
    // [entered] release → acquire in look_at_blocks.
    producer_.store(next, std::memory_order_release);
    written_ = 0;
    return true;
  }

  void enter(position at) {
    // relaxed: [entered] publishes it.
    block_at(at).written.store(word_of(at, 0), std::memory_order_relaxed);
    // [entered] release → acquire of claimed.
    block_at(at).claimed.store(word_of(at, 0), std::memory_order_release);
  }

  const std::size_t capacity_;
  const std::size_t blocks_count_;
  const index block_slots_;
  const std::unique_ptr<block[]> blocks_;
  const std::unique_ptr<slot[]> slots_;
  // Written by the owner.
  alignas(cache_line_bytes) atomic<position> producer_;
  atomic<position> consumer_;
  atomic<std::uint64_t> pushed_{0};
  atomic<std::uint64_t> popped_{0};
  std::uint64_t pushes_ = 0;
  std::uint64_t pops_ = 0;
  index written_ = 0;    ///< slots filled of block producer_
  index next_ = 0;       ///< while owned_: what to pop next from block consumer_
  bool owned_ = false;   ///< block consumer_ is taken over
  bool shared_ = false;  ///< block consumer_ is not to be taken over any more
  // Written by thieves.
  alignas(cache_line_bytes) atomic<std::uint64_t> stolen_{0};
};

static_assert(run_queue<block_stealing::type<void*, native>, void*>);
static_assert(stealable<block_stealing::type<void*, native>, void*>);
static_assert(publishing<block_stealing::type<void*, native>>);

}  // namespace heddle
