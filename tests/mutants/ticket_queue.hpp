#pragma once

#include <array>
#include <cstdint>

#include "mutant.hpp"

namespace heddle::mutants {

enum class ticket_queue_bug {
  none,
  head_and_tail_unordered,  ///< M16
};

/// Tickets in the way of oneTBB's concurrent_queue: a push takes the next ticket and fills its
/// slot, a pop takes a ticket that a push has taken and waits for the slot to be filled. Every slot
/// is used once.
///
/// [filled] carries the item. [passed] lets whoever sees a head see the tail that allowed it.
template <class Platform, ticket_queue_bug Bug>
class ticket_queue_type {
  using bug = ticket_queue_bug;

 public:
  using handle = stateless_handle;

  explicit ticket_queue_type(const queue_options&) {}

  push_result try_push(int item, handle&) {
    // relaxed: it only hands out a slot; [filled] publishes the item.
    const std::uint32_t ticket = tail_.fetch_add(1, std::memory_order_relaxed);
    slots_[ticket].store(item, std::memory_order_release);  // [filled]
    return push_result::ok;
  }

  pop_result<int> try_pop(handle&) {
    constexpr bool ordered = Bug != bug::head_and_tail_unordered;
    std::uint32_t ticket =
        head_.load(ordered ? std::memory_order_acquire : std::memory_order_relaxed);  // [passed]
    do {
      // relaxed: by [passed] not behind the head just read.
      if (tail_.load(std::memory_order_relaxed) == ticket) return {};
    } while (!head_.compare_exchange_strong(
        ticket, ticket + 1, ordered ? std::memory_order_acq_rel : std::memory_order_relaxed,
        ordered ? std::memory_order_acquire : std::memory_order_relaxed));
    backoff<Platform> pause;
    for (;;) {
      const int item = slots_[ticket].load(std::memory_order_acquire);  // [filled]
      if (item != 0) return {pop_status::item, item};
      pause();
    }
  }

 private:
  std::array<typename Platform::template atomic<int>, 4> slots_{};
  typename Platform::template atomic<std::uint32_t> tail_{0};
  typename Platform::template atomic<std::uint32_t> head_{0};
};

template <ticket_queue_bug Bug>
struct ticket_queue {
  template <class T, class Platform>
  using type = ticket_queue_type<Platform, Bug>;
};

}  // namespace heddle::mutants
