#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <heddle/base/platform.hpp>

namespace heddle {

/// Which threads may call an operation: the queue's owner, one thread at a time, or any. `none`:
/// the operation does not exist.
enum class role { none, owner, one, any };

/// The order in which items come out.
enum class queue_order { fifo, fifo_per_producer, lifo_owner_fifo_thief, relaxed };

/// What an answer ("empty", "full") proves.
///   strict                 at some moment during the call the queue was empty (full)
///   strict_when_quiescent  true if no other call overlaps
///   spurious               may be false while another call is stalled, or at random
enum class truth { strict, strict_when_quiescent, spurious };

enum class progress { wait_free, lock_free, obstruction_free, blocking };

/// What the queue needs of its element.
enum class element_kind {
  intrusive_link,  ///< a pointer to a type derived from queue_hook
  word,            ///< a trivially copyable value of at most pointer size
};

/// What one algorithm promises. Schedulers, tests and tables derive from it what applies; nobody
/// keeps a second list.
struct queue_traits {
  role push = role::any;
  role pop = role::any;
  role steal = role::any;
  queue_order order = queue_order::fifo;
  std::size_t relaxation = 0;  ///< `relaxed`: takes one of the first that many; 0: any
  truth empty = truth::strict;
  truth full = truth::strict;
  progress push_progress = progress::lock_free;
  progress pop_progress = progress::lock_free;
  bool bounded = false;
  std::size_t smallest_capacity = 0;  ///< slots; 0 when unbounded
  std::size_t largest_capacity = 0;   ///< slots; 0 when unbounded
  std::size_t default_capacity = 0;   ///< slots; 0 when unbounded
  bool power_of_two_capacity = false;
  bool exact_capacity = true;  ///< false: may be full below capacity(), but not when it is empty
  bool allocates = false;      ///< try_push may allocate
  element_kind element = element_kind::word;
  bool steals_half = false;          ///< has steal_half_into
  bool every_item_stealable = true;  ///< each pushed item can be stolen at once; else `publishing`
  bool native_only = false;          ///< has atomics of its own, so runs on `native` only
};

/// Whether `Platform` explores interleavings. There, what grows by segments or blocks uses tiny
/// ones, so that a client of a few operations meets their edges.
template <class Platform>
inline constexpr bool explored = requires {
  requires Platform::explored;
};

/// Base of an element of an intrusive queue. The link belongs to the queue while the item is
/// queued.
struct queue_hook {
  queue_hook* next_queued = nullptr;
};

/// Constructor argument of every queue.
struct queue_options {
  std::size_t capacity_slots = 0;  ///< 0: the traits' default
  std::size_t handles = 0;         ///< expected number of handles; a hint
  /// Test knob: the index at which a ring's counters start, so that tests begin next to
  /// wrap-around.
  std::uint64_t first_index = 0;
};

enum class push_result { ok, full };

/// `empty` and `contended` are never merged: the second says that an item may be there but another
/// thread got in the way, so look again.
enum class pop_status { item, empty, contended };

template <class T>
struct pop_result {
  pop_status status = pop_status::empty;
  T item{};

  explicit operator bool() const { return status == pop_status::item; }
};

/// Handle of a queue that keeps nothing per thread.
struct stateless_handle {
  template <class Queue>
  explicit stateless_handle(Queue&) {}
};

/// Capacity to use for `options` under `traits`.
/// Errors: std::invalid_argument that says what is allowed.
inline std::size_t checked_capacity(const queue_traits& traits, const queue_options& options,
                                    const char* queue_name) {
  const std::size_t slots =
      options.capacity_slots == 0 ? traits.default_capacity : options.capacity_slots;
  const bool power_of_two = (slots & (slots - 1)) == 0;
  if (slots < traits.smallest_capacity || slots > traits.largest_capacity ||
      (traits.power_of_two_capacity && !power_of_two)) {
    throw std::invalid_argument(std::string(queue_name) + ": capacity " + std::to_string(slots) +
                                " is not allowed; " +
                                (traits.power_of_two_capacity ? "a power of two " : "") + "from " +
                                std::to_string(traits.smallest_capacity) + " to " +
                                std::to_string(traits.largest_capacity));
  }
  return slots;
}

/// The operations that every run queue has. `Handle` is what a thread keeps for one queue (tokens,
/// hazard slots): each thread that uses the queue constructs its own with `Handle(queue)`, uses it
/// on that thread only, and destroys it before the queue.
template <class Queue, class T>
concept run_queue = requires(Queue& queue, const Queue& constant, typename Queue::handle& handle,
                             T item, const queue_options& options) {
  requires std::constructible_from<Queue, const queue_options&>;
  requires std::constructible_from<typename Queue::handle, Queue&>;
  { queue.try_push(item, handle) } -> std::same_as<push_result>;
  { queue.try_pop(handle) } -> std::same_as<pop_result<T>>;
  /// false proves that no push that completed before the call remains unpopped.
  { constant.maybe_nonempty() } -> std::same_as<bool>;
  { constant.approximate_size() } -> std::same_as<std::size_t>;
  { constant.capacity() } -> std::same_as<std::size_t>;
};

/// A queue whose thieves have an operation of their own, since try_pop is the owner's: it takes an
/// item from the thieves' end. Threads: any.
template <class Queue, class T>
concept stealable = requires(Queue& queue, typename Queue::handle& handle) {
  { queue.try_steal(handle) } -> std::same_as<pop_result<T>>;
};

/// What a thief does: try_steal, where there is one, else try_pop.
template <class Queue>
auto steal_from(Queue& queue, typename Queue::handle& handle) {
  if constexpr (requires { queue.try_steal(handle); }) {
    return queue.try_steal(handle);
  } else {
    return queue.try_pop(handle);
  }
}

/// A queue whose owner keeps items where thieves cannot take them: `every_item_stealable` is false.
template <class Queue>
concept publishing = requires(Queue& queue, const Queue& constant, typename Queue::handle& handle) {
  /// Owner only: lets thieves take what they could not. True: something is now there for them.
  { queue.publish_hidden(handle) } -> std::same_as<bool>;
  /// false: there was nothing that a thief could have taken.
  { constant.maybe_stealable() } -> std::same_as<bool>;
};

/// A queue whose thieves take up to half of the items in one step. `thief` must be of the same
/// type, owned by the caller; one stolen item is returned, the rest are pushed onto `thief`.
template <class Queue, class T>
concept half_stealing = requires(Queue& queue, typename Queue::handle& handle, std::size_t most) {
  { queue.steal_half_into(queue, most, handle) } -> std::same_as<pop_result<T>>;
};

}  // namespace heddle
