#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include <heddle/base/cache_line.hpp>

namespace heddle {

/// How many items a queue holds, for a queue whose own answer proves nothing. Each handle counts
/// its pushes and pops on a cache line that it alone writes, so nobody waits for anybody.
///
/// A push is counted before it begins and a pop after it has ended; who looks adds up the pops,
/// then the pushes. So each pop that is seen brings its push along, and an item whose push
/// completed and which nobody has popped makes the difference positive.
class item_counts {
  struct alignas(cache_line_bytes) counts {
    std::atomic<std::uint64_t> pushes{0};
    std::atomic<std::uint64_t> pops{0};
    bool in_use = true;             // guarded by lock_
    std::unique_ptr<counts> older;  // written before [added]
  };

 public:
  item_counts() = default;
  item_counts(const item_counts&) = delete;
  item_counts& operator=(const item_counts&) = delete;
  ~item_counts() { delete newest_.load(std::memory_order_relaxed); }

  /// What one handle counts on. A later handle goes on where an earlier one has ended.
  class writer {
   public:
    explicit writer(item_counts& all) : all_(all), own_(all.take()) {}
    ~writer() { all_.give_back(own_); }
    writer(const writer&) = delete;
    writer& operator=(const writer&) = delete;

    /// Before a push; and after one that did not take place.
    void begin_push() { add(own_.pushes, 1); }
    void undo_push() { add(own_.pushes, std::uint64_t(-1)); }
    /// After a pop.
    void end_pop() { add(own_.pops, 1); }

   private:
    static void add(std::atomic<std::uint64_t>& count, std::uint64_t number) {
      // relaxed: nobody else writes it. [popped] release → acquire in size: the pop's push, which
      // the queue has made known to this thread, is seen with it.
      count.store(count.load(std::memory_order_relaxed) + number, std::memory_order_release);
    }

    item_counts& all_;
    counts& own_;
  };

  /// At least 1 while an item is there whose push completed before the call. O(handles).
  std::uint64_t size() const {
    std::uint64_t pops = 0;
    // [added] acquire ← release in take: the counts are made.
    for (auto* one = newest_.load(std::memory_order_acquire); one; one = one->older.get()) {
      pops += one->pops.load(std::memory_order_acquire);  // [popped] acquire ← release in add.
    }
    std::uint64_t pushes = 0;
    // Again from the newest: a handle may have been made, and its item popped, before the loop
    // above came to who popped it. relaxed: what must be seen is seen by [popped].
    for (auto* one = newest_.load(std::memory_order_acquire); one; one = one->older.get()) {
      pushes += one->pushes.load(std::memory_order_relaxed);
    }
    return pushes - pops;
  }

 private:
  counts& take() {
    std::lock_guard guard(lock_);
    counts* const newest =
        newest_.load(std::memory_order_relaxed);  // relaxed: written under lock_.
    for (counts* one = newest; one; one = one->older.get()) {
      if (!one->in_use) {
        one->in_use = true;
        return *one;
      }
    }
    auto made = std::make_unique<counts>();
    made->older.reset(newest);
    newest_.store(made.get(), std::memory_order_release);  // [added] release → acquire in size.
    return *made.release();
  }

  void give_back(counts& own) {
    std::lock_guard guard(lock_);
    own.in_use = false;
  }

  std::mutex lock_;
  std::atomic<counts*> newest_{nullptr};
};

}  // namespace heddle
