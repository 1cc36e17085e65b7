#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

#include <heddle/base/assert.hpp>
#include <heddle/base/clock.hpp>
#include <heddle/base/platform.hpp>
#include <heddle/sync/mutex.hpp>
#include <heddle/sync/parker.hpp>
#include <heddle/sync/wait_list.hpp>

namespace heddle {

/// Fibers and plain threads wait until another tells them to look again. As
/// std::condition_variable, with heddle::mutex; there are no spurious wake-ups.
///
/// Each wait ends once: by the notification that picked it or by its deadline. A notify_one that
/// finds a waiter whose deadline came first picks the next one, so that no notification is lost
/// while somebody waits. Waiters are picked in order.
///
/// It may be destroyed as soon as every waiter has been notified, though they have not returned
/// yet; a notifier touches it no more once the waiter that it picked can run. A stop of the
/// runtime ends no wait.
///
/// Threads:    any. The lock must hold its mutex, and all concurrent waits use the same one.
/// Complexity: notify_one constant, without a waiter one load.
template <class Platform, class Parker = parker>
class basic_condition_variable {
 public:
  using mutex_type = basic_mutex<Platform, Parker>;
  using lock_type = std::unique_lock<mutex_type>;

  basic_condition_variable() = default;
  basic_condition_variable(const basic_condition_variable&) = delete;
  basic_condition_variable& operator=(const basic_condition_variable&) = delete;

  void wait(lock_type& lock) { wait_until_ns(lock, never_ns); }

  template <class Predicate>
  void wait(lock_type& lock, Predicate predicate) {
    while (!predicate()) wait(lock);
  }

  /// A deadline that has passed answers `timeout` at once and keeps the mutex locked all the while.
  std::cv_status wait_until(lock_type& lock, deadline limit) {
    return wait_until_ns(lock, limit.at_ns());
  }

  /// What the predicate says at the end. It is asked at least once.
  template <class Predicate>
  bool wait_until(lock_type& lock, deadline limit, Predicate predicate) {
    while (!predicate()) {
      if (wait_until_ns(lock, limit.at_ns()) == std::cv_status::timeout) return predicate();
    }
    return true;
  }

  template <class Rep, class Period>
  std::cv_status wait_for(lock_type& lock, std::chrono::duration<Rep, Period> duration) {
    return wait_until(lock, deadline(duration));
  }

  template <class Rep, class Period, class Predicate>
  bool wait_for(lock_type& lock, std::chrono::duration<Rep, Period> duration, Predicate predicate) {
    return wait_until(lock, deadline(duration), std::move(predicate));
  }

  /// Threads: any, with or without the mutex.
  void notify_one() noexcept;
  void notify_all() noexcept;

 private:
  using list = wait_list<Platform, Parker>;
  using place = typename list::place;

  std::cv_status wait_until_ns(lock_type& lock, std::uint64_t at_ns);

  /// Lets a notifier without a waiter pass without lock_.
  ///
  /// Relaxed: who waits stores true before it unlocks the mutex of its condition. Who notifies has
  /// held that mutex since it changed the condition, so either it held it later and reads that
  /// true, or the waiter held it later and saw the change.
  void note_waiters() noexcept { has_waiters_.store(!waiting_.empty(), std::memory_order_relaxed); }
  bool maybe_waiters() const noexcept { return has_waiters_.load(std::memory_order_relaxed); }

  typename Platform::template atomic<bool> has_waiters_{false};
  typename Platform::mutex lock_;
  list waiting_;  // guarded by lock_
};

template <class Platform, class Parker>
std::cv_status basic_condition_variable<Platform, Parker>::wait_until_ns(lock_type& lock,
                                                                         std::uint64_t at_ns) {
  HEDDLE_ASSERT(lock.owns_lock());
  if (Parker::passed(at_ns)) return std::cv_status::timeout;
  mutex_type& condition_mutex = *lock.mutex();
  place self;
  const auto publish = [this, &self, &condition_mutex]() noexcept {
    // Once listed, this waiter may already run and end the frame of the captures; the mutex stays
    // until it has been unlocked here and locked there.
    mutex_type& held = condition_mutex;
    HEDDLE_ASSERT(held.owned_by(nullptr));  // or it seems to lock twice there
    {
      std::lock_guard guard(lock_);
      waiting_.push_back(self);
      note_waiters();
    }
    held.unlock();
    return true;
  };
  bool notified = true;
  if (at_ns == never_ns) {
    self.park(publish);
  } else {
    notified = self.park_until(at_ns, publish);
  }
  if (!notified) {
    std::lock_guard guard(lock_);
    waiting_.remove(self);
    note_waiters();
  }
  condition_mutex.lock();
  return notified ? std::cv_status::no_timeout : std::cv_status::timeout;
}

template <class Platform, class Parker>
void basic_condition_variable<Platform, Parker>::notify_one() noexcept {
  if (!maybe_waiters()) return;
  place* next;
  {
    std::lock_guard guard(lock_);
    next = waiting_.claim_first();
    note_waiters();
  }
  if (next != nullptr) next->wake();
}

template <class Platform, class Parker>
void basic_condition_variable<Platform, Parker>::notify_all() noexcept {
  if (!maybe_waiters()) return;
  typename list::claimed woken;
  {
    std::lock_guard guard(lock_);
    while (place* const next = waiting_.claim_first()) woken.push(*next);
    note_waiters();
  }
  woken.wake_all();
}

extern template class basic_condition_variable<native>;

using condition_variable = basic_condition_variable<native>;

}  // namespace heddle
