#pragma once

#include <algorithm>
#include <type_traits>

#include <heddle/queues/item_counts.hpp>
#include <heddle/queues/queue_traits.hpp>

namespace heddle {

/// A queue of another library as one of these. `Library` has
///   explicit Library(const queue_options&)
///   bool push(T)              false: full; what it throws goes on to the caller
///   bool pop(T&)              false: empty, as far as the library knows
///   std::size_t capacity() const   0: unbounded
///   static void attach_thread()    where threads must make themselves known to the library: called
///                                  by each before its first push or pop, and perhaps again
/// The library uses std::atomic itself and not Platform: such a queue cannot run under the
/// explorer, and the knob first_index has no effect. Whether it holds items is counted here, see
/// item_counts.
template <class T, class Platform, class Library>
class counted_adapter {
  static_assert(std::is_same_v<Platform, native>,
                "an adapted queue uses std::atomic, not Platform: it runs on heddle::native only");
  static_assert(sizeof(T) <= sizeof(void*) && std::is_trivially_copyable_v<T>);

 public:
  class handle {
   public:
    explicit handle(counted_adapter& queue) : counts_(queue.counts_) {
      if constexpr (requires { Library::attach_thread(); }) Library::attach_thread();
    }

   private:
    friend counted_adapter;

    item_counts::writer counts_;
  };

  explicit counted_adapter(const queue_options& options) : library_(options) {}

  push_result try_push(T item, handle& handle) {
    handle.counts_.begin_push();
    try {
      if (library_.push(item)) return push_result::ok;
    } catch (...) {
      handle.counts_.undo_push();
      throw;
    }
    handle.counts_.undo_push();
    return push_result::full;
  }

  pop_result<T> try_pop(handle& handle) {
    pop_result<T> result;
    if (library_.pop(result.item)) {
      handle.counts_.end_pop();
      result.status = pop_status::item;
    }
    return result;
  }

  /// A caller that must not miss an item stands after a seq_cst fence, as with every queue.
  bool maybe_nonempty() const { return counts_.size() != 0; }

  std::size_t approximate_size() const {
    const std::size_t size = counts_.size();
    return capacity() == 0 ? size : std::min(size, capacity());
  }

  std::size_t capacity() const { return library_.capacity(); }

 private:
  Library library_;
  item_counts counts_;
};

}  // namespace heddle
