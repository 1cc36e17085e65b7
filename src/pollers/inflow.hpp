#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include <heddle/base/spin_lock.hpp>
#include <heddle/pollers/ring_entry.hpp>

namespace heddle {

class runtime_base;

/// What comes in on a socket by a receive that stays armed: a ring, its home, receives for as long
/// as the file is open, into buffers of its own, and hands the bytes to the operation that waits.
/// What comes while none waits is kept here.
///
/// Armed by whoever holds the direction of reading, on the ring of his own worker; disarmed by that
/// ring's worker, once the kernel has posted the last completion. So the direction is ready when
/// there are unread bytes or the flow is no longer armed, and whoever finds it neither ready nor
/// busy may wait for the home.
///
/// It is a wager that the next read will wait: one that finds its bytes there gains nothing from
/// it, and copies them once more. So a file is armed after a few reads that had to wait, and given
/// up as soon as its bytes pile up.
class inflow : public ring_entry {
 public:
  static constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

  // Threads, unless a call says otherwise: any for what tells, whoever holds the direction or the
  // home's worker for what changes.

  bool is_armed() const noexcept { return home() != nowhere; }
  /// The index of the worker whose ring receives; `nowhere` when not armed.
  std::uint32_t home() const noexcept {
    // [armed] acquire ← release in arm: the user; in disarm: what the home has kept.
    return home_.load(std::memory_order_acquire);
  }
  /// Whose fibers read. Relaxed: [armed] orders it.
  runtime_base* user() const noexcept { return user_.load(std::memory_order_relaxed); }

  void arm(std::uint32_t home, runtime_base& user) noexcept {
    user_.store(&user, std::memory_order_relaxed);
    home_.store(home, std::memory_order_release);  // [armed] → home(), of closers
  }
  /// [armed] release → home(), of whoever reads next.
  void disarm() noexcept { home_.store(nowhere, std::memory_order_release); }

  /// A read of a flow that is not armed began; `must_wait`: it will wait.
  void count_read(bool must_wait) noexcept {
    if (must_wait) {
      calm_ = std::min(calm_ + 1, reads_before_arming);
    } else {
      calm_ = std::min(calm_, 0);
    }
  }
  bool is_calm() const noexcept { return calm_ >= reads_before_arming; }

  /// Keeps bytes that nobody waits for. Answers false when they are so many that the home should
  /// rather stop receiving.
  bool keep(const std::byte* data, std::size_t bytes) noexcept {
    std::lock_guard guard(lock_);
    unread_.insert(unread_.end(), data, data + bytes);
    has_unread_.store(true, std::memory_order_relaxed);
    return unread_.size() - taken_ <= most_unread_bytes;
  }

  /// Keeps how the stream ended: 0, or a negated error number.
  void keep_end(int answer) noexcept {
    std::lock_guard guard(lock_);
    end_ = answer;
    has_unread_.store(true, std::memory_order_relaxed);
  }

  /// The bytes pile up: the next reads shall go without a flow. Threads: the home's, while armed.
  void give_up() noexcept { calm_ = -reads_after_giving_up; }

  bool has_unread() const noexcept { return has_unread_.load(std::memory_order_relaxed); }

  /// What a read of so many bytes answers: bytes that were kept, then the end. Nothing if neither
  /// is there.
  std::optional<int> take(void* buffer, std::size_t bytes) noexcept {
    if (!has_unread()) return std::nullopt;
    std::lock_guard guard(lock_);
    if (const std::size_t taken = std::min(bytes, unread_.size() - taken_); taken > 0) {
      std::memcpy(buffer, unread_.data() + taken_, taken);
      taken_ += taken;
      if (taken_ == unread_.size()) forget_bytes();
      return static_cast<int>(taken);
    }
    const std::optional<int> end = end_;
    end_.reset();
    has_unread_.store(false, std::memory_order_relaxed);
    return end;
  }

  /// For another file. Threads: nobody else knows it.
  void reset() noexcept {
    end_.reset();
    forget_bytes();
    calm_ = 0;
  }

 private:
  static constexpr int reads_before_arming = 2;
  static constexpr int reads_after_giving_up = 64;
  static constexpr std::size_t most_unread_bytes = 8192;

  void forget_bytes() noexcept {
    unread_.clear();
    if (unread_.capacity() > 2 * most_unread_bytes) unread_.shrink_to_fit();
    taken_ = 0;
    has_unread_.store(end_.has_value(), std::memory_order_relaxed);
  }

  std::atomic<std::uint32_t> home_{nowhere};
  std::atomic<runtime_base*> user_{nullptr};
  /// Reads in a row that had to wait, less those that go without a flow. The reader's while not
  /// armed, the home's while armed.
  int calm_ = 0;
  /// Relaxed, and written under lock_: the word of the direction orders the two sides.
  std::atomic<bool> has_unread_{false};

  spin_lock lock_;
  // Guarded by lock_.
  std::vector<std::byte> unread_;
  std::size_t taken_ = 0;  // of unread_, from its start
  std::optional<int> end_;
};

}  // namespace heddle
