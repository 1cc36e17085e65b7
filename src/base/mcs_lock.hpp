#pragma once

#include <cstdint>

#include <heddle/base/platform.hpp>

namespace heddle {

/// A lock whose waiters form a list, each looking at a word of its own on its own stack. It is held
/// by a `guard`.
///
/// Source:   J. M. Mellor-Crummey, M. L. Scott, "Algorithms for scalable synchronization on
///           shared-memory multiprocessors", ACM TOCS 9(1), 1991, section 2.4; the sleep is added.
/// Threads:  any; never held across a suspension.
/// Progress: blocking, fair: first come, first served, also when the next in turn is preempted.
///
/// Synchronisation: [listed] lets a successor write into its predecessor's node; [linked] lets the
/// holder find it there; [handed over] and [free] pass the lock on.
template <class Platform>
class mcs_lock {
  template <class T>
  using atomic = typename Platform::template atomic<T>;

  static constexpr std::uint32_t waiting = 0;
  static constexpr std::uint32_t sleeping = 1;
  static constexpr std::uint32_t granted = 2;

  struct node {
    atomic<node*> next{nullptr};
    atomic<std::uint32_t> state{waiting};
  };

 public:
  class guard {
   public:
    explicit guard(mcs_lock& lock) noexcept : lock_(lock) { lock_.lock(node_); }
    ~guard() { lock_.unlock(node_); }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

   private:
    mcs_lock& lock_;
    node node_;
  };

 private:
  void lock(node& mine) noexcept {
    // [listed] release → acquire here in the next to come: the node is made before it is linked to.
    // [free] acquire ← release in unlock: the holder before has finished its work.
    node* const before = last_.exchange(&mine, std::memory_order_acq_rel);
    if (before == nullptr) return;
    // [linked] release → acquire in unlock: the successor's node is made.
    before->next.store(&mine, std::memory_order_release);
    for (int looks = 0; looks < looks_before_sleep<Platform>; ++looks) {
      // [handed over] acquire ← release in unlock, here and below.
      if (mine.state.load(std::memory_order_acquire) == granted) return;
      Platform::pause();
    }
    std::uint32_t state = waiting;
    // relaxed: who falls asleep has read nothing yet.
    if (!mine.state.compare_exchange_strong(state, sleeping, std::memory_order_relaxed,
                                            std::memory_order_acquire)) {
      return;
    }
    do {
      Platform::wait(mine.state, sleeping);
    } while (mine.state.load(std::memory_order_acquire) != granted);
  }

  void unlock(node& mine) noexcept {
    node* next = mine.next.load(std::memory_order_acquire);  // [linked] acquire ← release in lock.
    if (next == nullptr) {
      node* self = &mine;
      // [free] release → acquire in lock. relaxed on failure: [linked] is what tells of the next.
      if (last_.compare_exchange_strong(self, nullptr, std::memory_order_release,
                                        std::memory_order_relaxed)) {
        return;
      }
      // One has taken its place and links itself in its next step, unless it is preempted there.
      backoff<Platform> wait;
      while ((next = mine.next.load(std::memory_order_acquire)) == nullptr) wait();  // [linked]
    }
    // Once it is handed over, the node may be gone: only its address is used then.
    atomic<std::uint32_t>* const word = &next->state;
    // [handed over] release → acquire in lock.
    if (word->exchange(granted, std::memory_order_release) == sleeping) Platform::notify_one(word);
  }

  atomic<node*> last_{nullptr};
};

}  // namespace heddle
