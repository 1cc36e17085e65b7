#pragma once

#include <atomic>
#include <cstdint>

#include <heddle/base/assert.hpp>
#include <heddle/base/cache_line.hpp>
#include <heddle/pollers/inflow.hpp>

namespace heddle {

class descriptor;
class runtime_base;
struct operation;

enum class direction : unsigned { read = 0, write = 1 };

/// Addresses of user space end below bit 47 unless a program asks for more, and nothing here does:
/// a generation fits above an address.
inline constexpr unsigned generation_shift = 48;
inline constexpr std::uint64_t address_mask = (std::uint64_t{1} << generation_shift) - 1;

/// One direction of a descriptor: who uses it, and whether it is known to be ready.
///
/// A word: the generation of the file, so that whoever still knows an earlier file that had this
/// memory is refused, and with it either the address of the operation that waits for readiness, or
/// `plain` with flags,
///   ready          a try may succeed
///   busy           one operation is under way; `home` says which worker's ring holds it
///   closed         for good; with busy: the operation releases the direction when it ends
/// The pairs: every change is an acq_rel read-modify-write on this word, so whoever
/// takes an operation out of it sees all that its fiber wrote before it waited, and the fiber sees
/// what they wrote.
class descriptor_side {
 public:
  enum class begun { tried, must_wait, busy, closed };

  /// Starts an operation that may succeed now. `must_wait` leaves the direction unused: nothing can
  /// be ready.
  begun begin(std::uint16_t generation) noexcept {
    std::uintptr_t seen = word_.load(std::memory_order_acquire);
    for (;;) {
      if (seen == of(generation)) return begun::must_wait;
      if (seen != of(generation, ready)) return refusal(seen, generation);
      if (exchange_if(seen, of(generation, busy))) return begun::tried;
    }
  }

  /// Starts an operation that the ring of worker `home` will hold; `must_wait` too has begun.
  begun begin_at(unsigned home, std::uint16_t generation) noexcept {
    std::uintptr_t seen = word_.load(std::memory_order_acquire);
    for (;;) {
      if (seen != of(generation) && seen != of(generation, ready)) return refusal(seen, generation);
      const std::uintptr_t next = of(generation, busy) | (std::uintptr_t{home} << home_shift);
      if (exchange_if(seen, next)) return seen == of(generation) ? begun::must_wait : begun::tried;
    }
  }

  /// Ends an operation. Answers true when the direction was closed meanwhile: the caller must then
  /// release it.
  bool end(bool still_ready) noexcept {
    std::uintptr_t seen = word_.load(std::memory_order_acquire);
    for (;;) {
      HEDDLE_ASSERT((seen & plain) != 0 && (seen & busy) != 0);
      const std::uintptr_t kept = seen & (~address_mask | plain | ready | closed);
      if (exchange_if(seen, kept | (still_ready ? ready : 0))) return (kept & closed) != 0;
    }
  }

  enum class waited { published, ready, busy, closed };

  /// Makes `waiting` wait for readiness; `held`: it has begun. On any other answer it does not
  /// wait, and on `ready` it is, or stays, begun.
  waited wait(operation& waiting, std::uint16_t generation, bool held) noexcept {
    const std::uintptr_t from = of(generation, held ? busy : 0);
    std::uintptr_t seen = from;
    for (;;) {
      // Whatever the home; an address, which is not `plain`, remains unlike both.
      const std::uintptr_t state = seen & ~(home_mask << home_shift);
      if (state == from) {
        if (exchange_if(seen, of(generation, waiting))) return waited::published;
      } else if (state == (from | ready)) {
        if (exchange_if(seen, of(generation, busy))) return waited::ready;
      } else if (held) {
        return waited::closed;
      } else {
        return refusal(seen, generation) == begun::busy ? waited::busy : waited::closed;
      }
    }
  }

  /// Readiness arrived. Returns the operation that waited, which is then begun, or nullptr.
  operation* became_ready(std::uint16_t generation) noexcept {
    std::uintptr_t seen = word_.load(std::memory_order_acquire);
    while (is_of(seen, generation)) {
      if ((seen & plain) != 0) {
        if ((seen & (ready | closed)) != 0) return nullptr;
        if (exchange_if(seen, seen | ready)) return nullptr;
      } else if (exchange_if(seen, of(generation, busy))) {
        return operation_in(seen);
      }
    }
    return nullptr;
  }

  /// Takes `waiting` out if it still waits; it is then begun.
  bool claim(operation& waiting, std::uint16_t generation) noexcept {
    std::uintptr_t expected = of(generation, waiting);
    return exchange_if(expected, of(generation, busy));
  }

  /// Takes out whatever operation waits; it is then begun.
  operation* claim_any(std::uint16_t generation) noexcept {
    std::uintptr_t seen = word_.load(std::memory_order_acquire);
    while ((seen & plain) == 0 && is_of(seen, generation))
      if (exchange_if(seen, of(generation, busy))) return operation_in(seen);
    return nullptr;
  }

  struct closing {
    bool released = false;         ///< nobody used it: the caller must release it
    operation* waiting = nullptr;  ///< waited; now begun and closed
    bool under_way = false;        ///< an operation has begun; it will release
    unsigned home = 0;             ///< the worker whose ring holds it, if a ring does
  };

  /// Closes the direction if no operation is under way. True: the caller must release it.
  bool close_unused(std::uint16_t generation) noexcept {
    std::uintptr_t seen = word_.load(std::memory_order_acquire);
    while ((seen & plain) != 0 && (seen & busy) == 0)
      if (exchange_if(seen, of(generation, closed))) return true;
    return false;
  }

  /// Closes the direction; once.
  closing close(std::uint16_t generation) noexcept {
    std::uintptr_t seen = word_.load(std::memory_order_acquire);
    for (;;) {
      if ((seen & plain) == 0) {
        if (exchange_if(seen, of(generation, busy | closed)))
          return {.waiting = operation_in(seen)};
      } else if ((seen & busy) != 0) {
        if (exchange_if(seen, seen | closed))
          return {.under_way = true,
                  .home = static_cast<unsigned>((seen >> home_shift) & home_mask)};
      } else if (exchange_if(seen, of(generation, closed))) {
        return {.released = true};
      }
    }
  }

  /// The fiber of whatever operation is under way is gone for good. True when the direction was
  /// closed meanwhile: the caller must then release it.
  bool abandon(std::uint16_t generation) noexcept {
    const std::uintptr_t seen = word_.load(std::memory_order_acquire);
    const bool was_closed = (seen & plain) != 0 && (seen & closed) != 0;
    word_.store(of(generation, was_closed ? closed : ready), std::memory_order_release);
    return was_closed && (seen & busy) != 0;
  }

  /// For a file that nobody else knows yet: ready, so that the first try tells.
  void open(std::uint16_t generation) noexcept {
    word_.store(of(generation, ready), std::memory_order_relaxed);
  }

 private:
  static constexpr std::uintptr_t plain = 1;  // an operation's address has none of the lower 4 bits
  static constexpr std::uintptr_t ready = 2;
  static constexpr std::uintptr_t busy = 4;
  static constexpr std::uintptr_t closed = 8;
  static constexpr unsigned home_shift = 8;
  static constexpr std::uintptr_t home_mask = 0xffff;

  static std::uintptr_t of(std::uint16_t generation, std::uintptr_t flags = 0) noexcept {
    return (std::uintptr_t{generation} << generation_shift) | flags | plain;
  }
  static std::uintptr_t of(std::uint16_t generation, operation& waiting) noexcept {
    return (std::uintptr_t{generation} << generation_shift) |
           reinterpret_cast<std::uintptr_t>(&waiting);
  }
  static bool is_of(std::uintptr_t seen, std::uint16_t generation) noexcept {
    return (seen >> generation_shift) == generation;
  }
  static operation* operation_in(std::uintptr_t seen) noexcept {
    return reinterpret_cast<operation*>(seen & address_mask);
  }

  /// Why an operation may not begin: another has, or the file is no longer this one.
  static begun refusal(std::uintptr_t seen, std::uint16_t generation) noexcept {
    const bool closes = (seen & plain) != 0 && (seen & closed) != 0;
    return is_of(seen, generation) && !closes ? begun::busy : begun::closed;
  }

  bool exchange_if(std::uintptr_t& expected, std::uintptr_t next) noexcept {
    return word_.compare_exchange_strong(expected, next, std::memory_order_acq_rel,
                                         std::memory_order_acquire);
  }

  std::atomic<std::uintptr_t> word_{plain | closed};
};

/// Names one open file: its descriptor and the generation that it had. Fits one word, so that a
/// socket can be closed by one thread while another looks at it.
class file_reference {
 public:
  file_reference() = default;
  file_reference(descriptor& target, std::uint16_t generation) noexcept
      : tag_(reinterpret_cast<std::uintptr_t>(&target) |
             (std::uint64_t{generation} << generation_shift)) {}
  explicit file_reference(std::uint64_t tag) noexcept : tag_(tag) {}

  explicit operator bool() const noexcept { return tag_ != 0; }
  descriptor& target() const noexcept {
    return *reinterpret_cast<descriptor*>(tag_ & address_mask);
  }
  std::uint16_t generation() const noexcept {
    return static_cast<std::uint16_t>(tag_ >> generation_shift);
  }
  std::uint64_t tag() const noexcept { return tag_; }

 private:
  std::uint64_t tag_ = 0;
};

/// An open file that fibers use. Its memory is never freed, only used again for another file, so a
/// late event that names it by address and generation finds something to compare with.
///
/// The file is closed when both directions have been released, by the closer or by the operations
/// that the closing found under way, and no flow is armed. So a number can never be given to
/// another file while an operation is about to use it.
class alignas(cache_line_bytes) descriptor {
 public:
  /// Takes ownership of `fd`. Errors: std::bad_alloc.
  static file_reference open(int fd);

  int fd() const noexcept { return fd_; }
  descriptor_side& side(direction which) noexcept { return sides_[static_cast<unsigned>(which)]; }

  /// Keeps the file open until one more release(). Relaxed: the direction that the caller has begun
  /// to use is a hold already.
  void hold() noexcept { holds_.fetch_add(1, std::memory_order_relaxed); }
  /// One direction is closed and unused, or a hold ends. The last call closes the file.
  void release() noexcept;

  /// Distinguishes the files that use this memory one after another. 16 bits: a wrong match needs
  /// an event that is late by 65536 reuses, and causes one look too many.
  std::uint16_t generation() const noexcept { return generation_.load(std::memory_order_relaxed); }

  /// O_NONBLOCK is set, as epoll needs it for some calls and io_uring does not want it. Relaxed:
  /// written by whoever has begun an operation.
  std::atomic<bool> nonblocking{false};
  /// The peer hung up: readiness no longer returns, so a short read does not mean "wait".
  /// [hangup] release → acquire: set before became_ready, read after it.
  std::atomic<bool> hung_up{false};
  /// The number of the group of pollers that watches the file, 0 for none. Not its address, which a
  /// later group may have. Relaxed: written by the fiber that registers; a stale value costs one
  /// refused registration.
  std::atomic<std::uint64_t> watched_by{0};
  /// The runtime whose fibers use the file. Relaxed: written before an operation begins, read by a
  /// closer that found one; the word of the direction orders the two.
  std::atomic<runtime_base*> user{nullptr};

  /// Calls `visit(descriptor&)` for each there ever was, open or not.
  template <class Visit>
  static void for_each(Visit visit) {
    for (descriptor* at = all_.load(std::memory_order_acquire); at != nullptr;
         at = at->next_of_all_)
      visit(*at);
  }

 private:
  static std::atomic<descriptor*> all_;

  descriptor_side sides_[2];
  std::atomic<int> holds_{0};
  std::atomic<std::uint16_t> generation_{0};
  int fd_ = -1;
  descriptor* next_free_ = nullptr;
  descriptor* next_of_all_ = nullptr;

 public:
  inflow flow;  // last: what every operation uses is in the line before it
};

/// A direction of `file` is closed and unused: lets it go, and with that of reading the flow. Part
/// of the runtime, whose closers it must not meet. Threads: any.
void release(file_reference file, direction which) noexcept;

}  // namespace heddle
