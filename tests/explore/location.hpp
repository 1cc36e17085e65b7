#pragma once

#include <atomic>
#include <cstdint>
#include <source_location>
#include <vector>

#include <explore/seq_cst_order.hpp>
#include <explore/vector_clock.hpp>

namespace heddle::explore {

inline bool acquires(std::memory_order order) noexcept {
  return order == std::memory_order_acquire || order == std::memory_order_consume ||
         order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

inline bool releases(std::memory_order order) noexcept {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

/// How a trace shows a value.
enum class value_kind : std::uint8_t { boolean, number, address, none };

/// A store to an atomic, its initialisation included.
struct store_event {
  std::uint64_t value = 0;
  unsigned thread = 0;
  std::uint32_t time = 0;
  vector_clock at;      ///< what happens before it, itself included
  vector_clock sync;    ///< what an acquire that reads it gets to know
  bool update = false;  ///< written by a read-modify-write, which read the store just before it
  std::uint64_t stamp = 0;
  int in_order = seq_cst_order::none;  ///< its number in the seq_cst order
  std::uint32_t step = 0;
  std::uint32_t position = 0;                             ///< in modification order
  std::array<std::uint32_t, most_threads> first_reads{};  ///< 0: that thread has not read it
};

/// A load of an atomic that wrote nothing.
struct read_event {
  std::uint32_t store = 0;
  unsigned thread = 0;
  std::uint32_t time = 0;
  vector_clock at;
  int in_order = seq_cst_order::none;
};

/// An atomic, a cell or a mutex of the client.
struct location {
  // All kinds.
  bool alive = false;
  value_kind kind = value_kind::number;
  std::uint32_t name = 0;  ///< number among those of its letter
  char letter = 'a';
  std::source_location constructed_where;
  unsigned constructed_by = 0;
  std::uint32_t constructed_at = 0;
  std::uint64_t write_stamp = 0;   ///< of the last step that may change what another one sees
  std::uint64_t access_stamp = 0;  ///< of the last step
  std::array<std::uint32_t, most_threads> last_accesses{};

  // Atomics.
  std::vector<std::uint32_t> order;  ///< stores, by number, in modification order
  std::vector<read_event> reads;

  // Cells: the last write; last_accesses has the reads.
  unsigned written_by = 0;
  std::uint32_t written_at = 0;
  std::uint32_t written_in_step = 0;

  // Mutexes and events.
  int permits = 0;  ///< how many may lock, or wait and go on
  int holder = -1;  ///< of a mutex
  int unlocked_by = -1;
  std::uint32_t unlocked_at = 0;
  vector_clock released;

  bool may_be_used(const vector_clock& now) const noexcept {
    return now.knows(constructed_by, constructed_at);
  }
  /// A thread whose last access does not happen before `now`; -1: all do.
  int unordered_access(const vector_clock& now) const noexcept {
    for (unsigned thread = 0; thread < most_threads; ++thread) {
      if (!now.knows(thread, last_accesses[thread])) return static_cast<int>(thread);
    }
    return -1;
  }
};

/// What a thread knows of the events of all.
struct thread_clocks {
  unsigned thread = 0;
  vector_clock before;    ///< at its previous event
  vector_clock now;       ///< at its last event
  vector_clock acquired;  ///< what an acquire fence adds: learnt by loads that did not acquire
  vector_clock released;  ///< what a relaxed store carries: known at the last release fence

  std::uint32_t time() const noexcept { return now.at[thread]; }

  /// Begins an event.
  void tick() noexcept {
    before = now;
    ++now.at[thread];
  }
};

}  // namespace heddle::explore
