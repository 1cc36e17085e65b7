#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <heddle/base/cache_line.hpp>

namespace heddle {

/// Who sleeps and who searches: decides when a push must wake a sleeping worker, so that no
/// runnable fiber waits while a worker sleeps, and so that few wake-ups are sent.
///
/// One wake-up brings one searcher; while there is a searcher no other is woken, since it will find
/// the work, or look once more before it sleeps. A wake-up under way counts as a searcher.
///
///   one who makes work available             one who stops looking
///   ----------------------------             ---------------------
///   push                                     announce_sleep: sleeps = true, or stop_search: RMW
///   fence                                    fence
///   [look]  load searchers, sleeps           [recheck] maybe_nonempty of every source
///
/// Both sides are store, seq_cst fence, load: one of the two loads sees the other side's store.
/// Either the pusher sees the sleeper, or the sleeper sees the item.
///
/// A worker that goes to sleep and wakes up writes one byte on a line of its own: that happens at
/// every wait for events, while wake-ups, which look at all of them, are rare.
///
/// Threads: any, but for announce_sleep and end_sleep, which are worker `index`'s own.
/// Progress: lock-free.
template <class Platform>
class idle_protocol {
 public:
  /// `most_searchers`: at most this many workers search of their own accord; at least 1.
  idle_protocol(unsigned workers, std::uint32_t most_searchers)
      : most_searchers_(most_searchers), sleepers_(workers) {}

  /// After work was made available. True: the caller must send one wake-up, or call wake_failed.
  bool should_wake() noexcept {
    if (!wake_is_wanted()) return false;
    std::uint32_t none = 0;
    return searchers_.compare_exchange_strong(none, 1, std::memory_order_acq_rel,
                                              std::memory_order_relaxed);
  }

  /// As should_wake, for a caller that will not send the wake-up itself.
  bool wake_is_wanted() const noexcept {
    Platform::fence(std::memory_order_seq_cst);
    // Relaxed: the fence orders the loads after the push; see the table.
    return searchers_.load(std::memory_order_relaxed) == 0 && sleeping(1);
  }

  /// Nobody was there to receive the wake-up: every sleeper of a moment ago is awake and will look
  /// at every source before it sleeps again.
  void wake_failed() noexcept { searchers_.fetch_sub(1, std::memory_order_acq_rel); }

  /// True: the caller is a searcher now. False: enough others search.
  bool start_search() noexcept {
    std::uint32_t seen = searchers_.load(std::memory_order_relaxed);
    while (seen < most_searchers_) {
      if (searchers_.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel,
                                           std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// A searcher found work. True: it was the last, so it must look at every source again and call
  /// should_wake if there is work.
  bool stop_search() noexcept {
    if (searchers_.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
    Platform::fence_after_update();  // [recheck] follows
    return true;
  }

  /// Worker `index` is about to sleep, and looks at every source once more before it does.
  void announce_sleep(unsigned index, bool was_searching) noexcept {
    // Relaxed: the fence orders it before the look.
    sleepers_[index].sleeps.store(true, std::memory_order_relaxed);
    if (was_searching) searchers_.fetch_sub(1, std::memory_order_acq_rel);
    Platform::fence(std::memory_order_seq_cst);  // [recheck] follows
  }

  /// Worker `index` no longer sleeps, whatever woke it.
  void end_sleep(unsigned index) noexcept {
    // Relaxed: who still sees a sleeper wakes one in vain.
    sleepers_[index].sleeps.store(false, std::memory_order_relaxed);
  }

  bool sleeps(unsigned index) const noexcept {
    return sleepers_[index].sleeps.load(std::memory_order_relaxed);
  }

  /// After announce_sleep: nobody is awake. The last of several to announce sees it.
  bool all_sleep() const noexcept { return sleeping(sleepers_.size()); }

 private:
  struct alignas(cache_line_bytes) sleeper {
    typename Platform::template atomic<bool> sleeps{false};
  };

  bool sleeping(std::size_t wanted) const noexcept {
    for (const sleeper& one : sleepers_) {
      if (one.sleeps.load(std::memory_order_relaxed) && --wanted == 0) return true;
    }
    return false;
  }

  const std::uint32_t most_searchers_;
  alignas(cache_line_bytes) typename Platform::template atomic<std::uint32_t> searchers_{0};
  std::vector<sleeper> sleepers_;
};

}  // namespace heddle
