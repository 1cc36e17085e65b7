#pragma once

#include <atomic>
#include <cstdint>

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
///   push                                     announce_sleep, or stop_search   (RMW on state_)
///   fence                                    fence
///   [look]  load state_                      [recheck] maybe_nonempty of every source
///
/// Both sides are store, seq_cst fence, load: one of the two loads sees the other side's store.
/// Either the pusher sees the sleeper, or the sleeper sees the item.
///
/// Threads: any.   Progress: lock-free.
template <class Platform>
class idle_protocol {
 public:
  /// `most_searchers`: at most this many workers search of their own accord; at least 1.
  explicit idle_protocol(std::uint32_t most_searchers) : most_searchers_(most_searchers) {}

  /// After work was made available. True: the caller must send one wake-up, or call wake_failed.
  bool should_wake() noexcept {
    Platform::fence(std::memory_order_seq_cst);
    // Relaxed: the fence orders it after the push; see the table.
    std::uint64_t seen = state_.load(std::memory_order_relaxed);
    while (sleepers(seen) > 0 && searchers(seen) == 0) {
      if (state_.compare_exchange_weak(seen, seen + one_searcher, std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// As should_wake, for a caller that will not send the wake-up itself.
  bool wake_is_wanted() noexcept {
    Platform::fence(std::memory_order_seq_cst);
    const std::uint64_t seen = state_.load(std::memory_order_relaxed);
    return sleepers(seen) > 0 && searchers(seen) == 0;
  }

  /// Nobody was there to receive the wake-up: every sleeper of a moment ago is awake and will look
  /// at every source before it sleeps again.
  void wake_failed() noexcept { state_.fetch_sub(one_searcher, std::memory_order_acq_rel); }

  /// True: the caller is a searcher now. False: enough others search.
  bool start_search() noexcept {
    std::uint64_t seen = state_.load(std::memory_order_relaxed);
    while (searchers(seen) < most_searchers_) {
      if (state_.compare_exchange_weak(seen, seen + one_searcher, std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// A searcher found work. True: it was the last, so it must look at every source again and call
  /// should_wake if there is work.
  bool stop_search() noexcept {
    const std::uint64_t before = state_.fetch_sub(one_searcher, std::memory_order_acq_rel);
    if (searchers(before) != 1) return false;
    Platform::fence_after_update();  // [recheck] follows
    return true;
  }

  /// The caller is about to sleep, and looks at every source once more before it does. Answers the
  /// number of sleepers, itself included.
  std::uint32_t announce_sleep(bool was_searching) noexcept {
    const std::uint64_t change = one_sleeper - (was_searching ? one_searcher : 0);
    const std::uint64_t before = state_.fetch_add(change, std::memory_order_acq_rel);
    Platform::fence_after_update();  // [recheck] follows
    return sleepers(before) + 1;
  }

  /// The caller no longer sleeps, whatever woke it.
  void end_sleep() noexcept { state_.fetch_sub(one_sleeper, std::memory_order_acq_rel); }

 private:
  static constexpr std::uint64_t one_searcher = 1;
  static constexpr std::uint64_t one_sleeper = std::uint64_t{1} << 32;

  static std::uint32_t searchers(std::uint64_t state) { return static_cast<std::uint32_t>(state); }
  static std::uint32_t sleepers(std::uint64_t state) {
    return static_cast<std::uint32_t>(state >> 32);
  }

  const std::uint32_t most_searchers_;
  alignas(cache_line_bytes) typename Platform::template atomic<std::uint64_t> state_{0};
};

}  // namespace heddle
