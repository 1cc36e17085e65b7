#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "mutant.hpp"

namespace heddle::mutants {

enum class chase_lev_bug {
  none,
  array_published_relaxed,    ///< M4
  stale_array_after_growth,   ///< M4, as printed in the paper of 2013
  unsigned_positions,         ///< M5
  no_fence_in_take,           ///< M7
  one_array_for_whole_batch,  ///< M8
};

/// The deque of Chase and Lev in its C11 form. The arrays into which it grows are there from the
/// start and until the end, so that a mutant reads wrong slots, and not memory that is no slot.
///
/// [pushed] and [grown] carry items and arrays to thieves. take and steal are a store-load pair:
///
///   take                          steal
///   bottom = b - 1                load (or claim) top
///   fence                         fence
///   load top                      load bottom
///
/// so that not both believe that the last item is theirs alone.
template <class Platform, chase_lev_bug Bug>
class chase_lev_deque {
  using bug = chase_lev_bug;
  using position = std::conditional_t<Bug == bug::unsigned_positions, std::uint64_t, std::int64_t>;
  template <class Value>
  using atomic = typename Platform::template atomic<Value>;
  struct ring;

 public:
  using handle = stateless_handle;

  explicit chase_lev_deque(const queue_options& options) {
    auto size = static_cast<position>(options.capacity_slots);
    for (auto& array : arrays_) {
      array = std::make_unique<ring>(size);
      size *= 2;
    }
    array_.store(arrays_[0].get(), std::memory_order_relaxed);
  }

  /// Owner only.
  push_result try_push(int item, handle&) {
    const position bottom = bottom_.load(std::memory_order_relaxed);  // only this thread writes it
    const position top = top_.load(std::memory_order_acquire);
    ring* array = array_.load(std::memory_order_relaxed);
    if (bottom - top >= array->size) {
      ring* grown = grow(top, bottom);
      if (Bug != bug::stale_array_after_growth) array = grown;
    }
    array->at(bottom).store(item, std::memory_order_relaxed);
    bottom_.store(bottom + 1, std::memory_order_release);  // [pushed]
    return push_result::ok;
  }

  /// Owner only: the last item.
  pop_result<int> try_pop(handle&) {
    const position bottom = bottom_.load(std::memory_order_relaxed) - 1;
    ring* array = array_.load(std::memory_order_relaxed);
    // release, as every store of bottom_: a thief that sees it must see the items below.
    bottom_.store(bottom, std::memory_order_release);
    if (Bug != bug::no_fence_in_take) Platform::fence(std::memory_order_seq_cst);
    position top = top_.load(std::memory_order_relaxed);
    if (top > bottom) {
      bottom_.store(bottom + 1, std::memory_order_release);
      return {};
    }
    const int item = array->at(bottom).load(std::memory_order_relaxed);
    if (top < bottom) return {pop_status::item, item};
    const bool won = top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst,
                                                  std::memory_order_relaxed);
    bottom_.store(bottom + 1, std::memory_order_release);
    if (!won) return {};
    return {pop_status::item, item};
  }

  /// Any thread: the first item.
  pop_result<int> try_steal(handle& handle) { return batch(*this).try_steal(handle); }

  /// A thief that takes several items, with a claim each.
  class batch {
   public:
    using handle = chase_lev_deque::handle;

    explicit batch(chase_lev_deque& deque) : deque_(deque) {
      if (one_array) array_ = deque.array_.load(std::memory_order_acquire);  // [grown]
    }

    pop_result<int> try_steal(handle&) {
      position top = deque_.top_.load(std::memory_order_acquire);
      Platform::fence(std::memory_order_seq_cst);
      const position bottom = deque_.bottom_.load(std::memory_order_acquire);  // [pushed]
      if (top >= bottom) return {};
      // [grown] acquire: not older than the bottom just read.
      if (!one_array) array_ = deque_.array_.load(std::memory_order_acquire);
      // Before the claim; when it is that of a later lap the claim fails.
      const int item = array_->at(top).load(std::memory_order_relaxed);
      if (!deque_.top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst,
                                               std::memory_order_relaxed)) {
        return {pop_status::contended};
      }
      return {pop_status::item, item};
    }

   private:
    static constexpr bool one_array = Bug == bug::one_array_for_whole_batch;

    chase_lev_deque& deque_;
    ring* array_ = nullptr;
  };

  /// Owner only: makes room before it is needed.
  void grow() {
    grow(top_.load(std::memory_order_acquire), bottom_.load(std::memory_order_relaxed));
  }

 private:
  struct ring {
    explicit ring(position slots)
        : size(slots), items(new atomic<int>[static_cast<std::size_t>(slots)]) {
      // relaxed: [grown] publishes them. Zero is no item.
      for (position at = 0; at < size; ++at) this->at(at).store(0, std::memory_order_relaxed);
    }
    atomic<int>& at(position position) {
      return items[static_cast<std::size_t>(position & (size - 1))];
    }

    const position size;
    const std::unique_ptr<atomic<int>[]> items;
  };

  ring* grow(position top, position bottom) {
    ring* old = array_.load(std::memory_order_relaxed);
    ring* made = arrays_.at(++grown_).get();
    for (position at = top; at < bottom; ++at) {
      made->at(at).store(old->at(at).load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    array_.store(made, Bug == bug::array_published_relaxed ? std::memory_order_relaxed
                                                           : std::memory_order_release);  // [grown]
    return made;
  }

  std::array<std::unique_ptr<ring>, explored<Platform> ? 2 : 5> arrays_;
  std::size_t grown_ = 0;
  atomic<ring*> array_{nullptr};
  atomic<position> top_{0};
  atomic<position> bottom_{0};
};

template <chase_lev_bug Bug>
struct chase_lev {
  template <class T, class Platform>
  using type = chase_lev_deque<Platform, Bug>;
};

struct growth_beside_a_batch {
  static constexpr char text[] = "2 items; steal 2 in a batch ∥ take, grow, push";

  template <class Where, class Queue>
  static void run() {
    Queue queue(queue_options{.capacity_slots = 2});
    call_log<Where> log;
    caller main(queue, log, lane::before);
    main.push(1);
    main.push(2);
    Where::together(
        [&] {
          caller self(queue, log, lane::first);
          typename Queue::batch batch(queue);
          self.steal_by(batch);
          self.steal_by(batch);
        },
        [&] {
          caller self(queue, log, lane::second);
          self.pop();
          queue.grow();
          self.push(3);
        });
    main.drain();
    log.require_explained({.order = queue_order::lifo_owner_fifo_thief});
  }
};

}  // namespace heddle::mutants
