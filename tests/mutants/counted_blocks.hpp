#pragma once

#include <array>
#include <cstdint>

#include "mutant.hpp"

namespace heddle::mutants {

enum class counted_blocks_bug {
  none,
  head_claimed_relaxed,   ///< M12
  block_reused_relaxed,   ///< M13
  plain_comparison,       ///< M13, second form
  tail_read_before_head,  ///< M14
};

/// Sub-queue of one producer in moodycamel's design: a ring of blocks of two slots. A consumer
/// first counts itself in `claims_`; if fewer claims than items came before it, one of the items is
/// its own, and `head_` says which. Who finds none takes its claim back in `refunds_`.
///
/// [pushed] carries the items; [claimed] hands what one consumer saw of the tail to the next one,
/// whose item may be the one that only the first has seen; [drained] tells the producer that both
/// items of a block were read.
template <class Platform, counted_blocks_bug Bug>
class counted_blocks_queue {
  using bug = counted_blocks_bug;
  using index = std::uint32_t;

 public:
  using handle = stateless_handle;

  explicit counted_blocks_queue(const queue_options& options)
      : blocks_count_(options.capacity_slots / block_slots),
        tail_(static_cast<index>(options.first_index)),
        claims_(static_cast<index>(options.first_index)),
        head_(static_cast<index>(options.first_index)) {}

  /// The producer only.
  push_result try_push(int item, handle&) {
    const index tail = tail_.load(std::memory_order_relaxed);  // only this thread writes it
    block& block = block_of(tail);
    if (tail % block_slots == 0) {
      // [drained] acquire ← release in try_pop: consumers wrote to the slots before this does.
      const unsigned drained = block.drained.load(
          Bug == bug::block_reused_relaxed ? std::memory_order_relaxed : std::memory_order_acquire);
      if (drained != block_slots) return push_result::full;
      block.drained.store(0, std::memory_order_relaxed);  // [pushed] tells who counts next.
    }
    block.slots[tail % block_slots].store(item, std::memory_order_relaxed);  // [pushed]
    tail_.store(tail + 1, std::memory_order_release);                        // [pushed]
    return push_result::ok;
  }

  pop_result<int> try_pop(handle&) {
    if (looks_empty()) return {};
    const index refunds = refunds_.load(std::memory_order_acquire);
    const index claim = claims_.fetch_add(1, std::memory_order_acq_rel) - refunds;  // [claimed]
    if (!before(claim, tail_.load(std::memory_order_acquire))) {                    // [pushed]
      refunds_.fetch_add(1, std::memory_order_release);
      return {};
    }
    const index at = head_.fetch_add(1, Bug == bug::head_claimed_relaxed
                                            ? std::memory_order_relaxed
                                            : std::memory_order_acq_rel);  // [claimed]
    block& block = block_of(at);
    // relaxed: see [claimed]. Like a destructor, the consumer writes to the slot when it is done.
    const int item = block.slots[at % block_slots].load(std::memory_order_relaxed);
    block.slots[at % block_slots].store(0, std::memory_order_relaxed);
    block.drained.fetch_add(1, std::memory_order_release);  // [drained]
    return {pop_status::item, item};
  }

 private:
  static constexpr unsigned block_slots = 2;

  struct block {
    typename Platform::template atomic<unsigned> drained{block_slots};
    std::array<typename Platform::template atomic<int>, block_slots> slots{};
  };

  static bool before(index a, index b) {
    return Bug == bug::plain_comparison ? a < b : static_cast<std::int32_t>(a - b) < 0;
  }

  /// [claimed] acquire of head first: by it this thread knows that the tail has passed.
  bool looks_empty() const {
    if (Bug == bug::tail_read_before_head) {
      const index tail = tail_.load(std::memory_order_acquire);
      return !before(head_.load(std::memory_order_acquire), tail);
    }
    const index head = head_.load(std::memory_order_acquire);
    return !before(head, tail_.load(std::memory_order_acquire));
  }

  block& block_of(index at) { return blocks_[at / block_slots % blocks_count_]; }

  const std::size_t blocks_count_;
  std::array<block, 2> blocks_{};
  typename Platform::template atomic<index> tail_;
  typename Platform::template atomic<index> claims_;
  typename Platform::template atomic<index> refunds_{0};
  typename Platform::template atomic<index> head_;
};

template <counted_blocks_bug Bug>
struct counted_blocks {
  template <class T, class Platform>
  using type = counted_blocks_queue<Platform, Bug>;
};

/// A consumer pops only after it has taken a signal, of which there is one for each item; so it
/// knows, whatever the order of the calls, that an item is there for it.
struct pops_with_a_signal_each {
  static constexpr char text[] = "2 x (push, signal) ∥ wait, pop ∥ wait, pop";

  template <class Where, class Queue>
  static void run() {
    Queue queue(queue_options{.capacity_slots = 4});
    call_log<Where> log;
    typename Where::platform::template atomic<int> signals{0};
    std::array<bool, 2> missed{};
    caller main(queue, log, lane::before);
    const auto consume = [&](lane where, bool& missed) {
      int seen = signals.load(std::memory_order_relaxed);
      while (seen > 0) {
        // acquire ← release of the signal: its push has completed.
        if (signals.compare_exchange_strong(seen, seen - 1, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
          missed = caller(queue, log, where).pop() == pop_status::empty;
          return;
        }
      }
    };
    Where::together(
        [&] {
          caller self(queue, log, lane::first);
          for (int item = 1; item <= 2; ++item) {
            self.push(item);
            signals.fetch_add(1, std::memory_order_release);
          }
        },
        [&] { consume(lane::second, missed[0]); }, [&] { consume(lane::third, missed[1]); });
    Where::require({!missed[0] && !missed[1], "pop says empty, and an item was published for it"});
    main.drain();
    log.require_explained({.capacity_slots = 4, .full = truth::spurious});
  }
};

}  // namespace heddle::mutants
