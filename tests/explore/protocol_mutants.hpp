#pragma once

#include <atomic>

#include <explore/explore.hpp>

#include <heddle/schedulers/idle.hpp>

namespace heddle::explore {

/// A platform without fences, for a protocol that lacks them.
struct model_without_fences : model {
  static void fence(std::memory_order) noexcept {}
};

/// When a worker looks at every source once more before it sleeps.
enum class recheck { after_announcing, before_announcing, never };

/// What the idle protocol is for, in small: a queue that is only a number of items, workers that
/// take them, and a sleep. The order of steps is that of the worker loop in src/runtime.hpp.
///
/// An item runs until all items do, each on a worker of its own: as long as an item waits, an idle
/// worker must be woken for it.
template <class Platform, recheck Recheck = recheck::after_announcing,
          bool LastSearcherLooksAgain = true>
class small_runtime {
 public:
  small_runtime(unsigned workers, int items)
      : idle_(workers, 1), workers_(workers), total_(items) {}

  void push() {
    // Relaxed, as in the queues: only the protocol's fences order it before the look for sleepers.
    items_.fetch_add(1, std::memory_order_relaxed);
    notify();
  }

  void work(unsigned index) {
    bool searching = false;
    while (!finished_.load(std::memory_order_acquire)) {
      if (take_item()) {
        stop_searching(searching);
        run_item();
        return;
      }
      if (Recheck == recheck::before_announcing && has_items()) continue;
      sleep(index, searching);
    }
    stop_searching(searching);
  }

 private:
  void notify() {
    if (!idle_.should_wake()) return;
    begin_search();
    if (!wake_one()) {
      end_search();
      idle_.wake_failed();
    }
  }

  bool wake_one() {
    unsigned seen = parked_.load(std::memory_order_acquire);
    while (seen != 0) {
      if (parked_.compare_exchange_weak(seen, seen & (seen - 1), std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
        wake_up_[seen & 1 ? 0 : 1].wake();
        return true;
      }
    }
    return false;
  }

  void sleep(unsigned index, bool& searching) {
    const unsigned bit = 1u << index;
    parked_.fetch_or(bit, std::memory_order_acq_rel);
    if (searching) end_search();
    idle_.announce_sleep(index, std::exchange(searching, false));
    const bool looks = Recheck == recheck::after_announcing;
    const bool sleeps = !(looks && has_items()) && !finished_.load(std::memory_order_relaxed);
    if (sleeps) wake_up_[index].wait();
    idle_.end_sleep(index);
    if ((parked_.fetch_and(~bit, std::memory_order_acq_rel) & bit) == 0) {
      if (!sleeps) wake_up_[index].wait();  // a wake-up is under way
      searching = !finished_.load(std::memory_order_acquire);
    }
  }

  void stop_searching(bool& searching) {
    if (!std::exchange(searching, false)) return;
    end_search();
    if (idle_.stop_search() && LastSearcherLooksAgain && has_items()) notify();
  }

  void run_item() {
    if (running_.fetch_add(1, std::memory_order_acq_rel) + 1 < total_) {
      all_run_.wait();
      return;
    }
    for (int other = 1; other < total_; ++other) all_run_.wake();
    finished_.store(true, std::memory_order_relaxed);
    model::fence(std::memory_order_seq_cst);
    unsigned parked = parked_.exchange(0, std::memory_order_acq_rel);
    for (unsigned index = 0; index < workers_; ++index, parked >>= 1) {
      if (parked & 1) wake_up_[index].wake();
    }
  }

  bool take_item() {
    int seen = items_.load(std::memory_order_relaxed);
    while (seen > 0) {
      if (items_.compare_exchange_weak(seen, seen - 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }

  bool has_items() const { return items_.load(std::memory_order_relaxed) > 0; }

  // Updates of the protocol's counter take place in the order in which they are explored, so a
  // plain counter beside it is exact.
  void begin_search() { require(++searchers_ == 1, "a searcher or a wake-up at a time"); }
  void end_search() { --searchers_; }

  idle_protocol<Platform> idle_;
  const unsigned workers_;
  const int total_;
  int searchers_ = 0;
  model::atomic<int> items_{0};
  model::atomic<int> running_{0};
  model::atomic<bool> finished_{false};
  model::atomic<unsigned> parked_{0};
  event wake_up_[2];
  event all_run_;
};

}  // namespace heddle::explore
