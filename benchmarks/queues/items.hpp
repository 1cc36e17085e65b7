#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <vector>

#include <heddle/base/cache_line.hpp>
#include <heddle/queues/queue_traits.hpp>

namespace heddle::bench {

/// What goes through the queues: on cache lines of its own, like a fiber, and usable by intrusive
/// queues.
struct alignas(cache_line_bytes) item : queue_hook {};

/// All items of a run. Threads that push take them from here and threads that pop bring them back,
/// a batch at a time, so that the way back costs little and is the same for every queue. The number
/// of items bounds how many can be queued.
class item_depot {
 public:
  static constexpr std::size_t batch_items = 64;
  using batch = std::array<item*, batch_items>;

  /// Holds at least `items`, rounded up to whole batches.
  explicit item_depot(std::size_t items)
      : items_((items + batch_items - 1) / batch_items * batch_items) {
    full_.reserve(items_.size() / batch_items);
    batch next;
    for (std::size_t first = 0; first < items_.size(); first += batch_items) {
      for (std::size_t offset = 0; offset < batch_items; ++offset)
        next[offset] = &items_[first + offset];
      full_.push_back(next);
    }
  }

  /// False when no whole batch is here.
  bool take(item** to) {
    std::lock_guard guard(lock_);
    if (full_.empty()) return false;
    std::copy(full_.back().begin(), full_.back().end(), to);
    full_.pop_back();
    return true;
  }

  void give(item* const* from) {
    std::lock_guard guard(lock_);
    full_.emplace_back();
    std::copy_n(from, batch_items, full_.back().begin());
  }

 private:
  std::vector<item> items_;
  std::mutex lock_;
  std::vector<batch> full_;  // guarded by lock_
};

/// The items that one thread holds: a stack of up to two batches.
class item_stash {
 public:
  static constexpr std::size_t most_items = 2 * item_depot::batch_items;

  explicit item_stash(item_depot& depot) : depot_(depot) {}

  /// nullptr when all items are queued, or held by other threads.
  item* take() {
    if (size_ == 0) {
      if (!depot_.take(items_.data())) return nullptr;
      size_ = item_depot::batch_items;
    }
    return items_[--size_];
  }

  void put(item* returned) {
    if (size_ == most_items) {
      size_ -= item_depot::batch_items;
      depot_.give(items_.data() + size_);
    }
    items_[size_++] = returned;
  }

 private:
  item_depot& depot_;
  std::array<item*, most_items> items_;
  std::size_t size_ = 0;
};

}  // namespace heddle::bench
