#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include <explore/location.hpp>
#include <explore/options.hpp>

namespace heddle::explore {

/// What a model thread does next. A thread stops before a step that does not commute with the steps
/// of others, and the scheduler decides who goes on.
enum class action : std::uint8_t {
  start,
  load,
  store,
  update,
  fence,
  lock,
  try_lock,
  join,
  pause,
};

/// A thread that has read the same stores at the same places so many times in a row, and done
/// nothing else, waits in vain until another thread writes.
inline constexpr std::size_t most_repetitions = 4;

/// Loads since a thread last did anything else.
class read_trail {
 public:
  void clear() noexcept { size_ = 0; }

  /// True: the thread repeats itself.
  bool repeats(std::uint32_t where, std::uint32_t store, std::uint32_t line) {
    if (size_ == kept.size()) clear();
    kept[size_++] = {where, store, line};
    for (std::size_t period = 1; period * most_repetitions <= size_; ++period) {
      if (has_period(period)) return true;
    }
    return false;
  }

 private:
  struct look {
    std::uint32_t where;
    std::uint32_t store;
    std::uint32_t line;
    bool operator==(const look&) const = default;
  };

  bool has_period(std::size_t period) const noexcept {
    const std::size_t first = size_ - period * most_repetitions;
    for (std::size_t index = size_ - 1; index >= first + period; --index) {
      if (!(kept[index] == kept[index - period])) return false;
    }
    return true;
  }

  std::array<look, 64> kept;
  std::size_t size_ = 0;
};

struct model_thread {
  bool finished = false;
  action next = action::start;
  std::uint32_t where = 0;   ///< location of `next`
  unsigned joined = 0;       ///< whom `next` waits for
  std::uint64_t wanted = 0;  ///< `next` waits for more writes of others than this

  // Sleep set: its next step was explored from here with all stores up to a stamp.
  bool asleep = false;
  std::uint64_t asleep_since = 0;
  std::uint64_t fresh = 0;  ///< the step that runs may read only stores above this stamp

  // Spins.
  std::uint64_t own_writes = 0;
  std::uint64_t seen_writes = 0;  ///< of others, when the present round of a spin began
  read_trail trail;

  thread_clocks clocks;
  std::function<void()> body;

  void fall_asleep(std::uint64_t stamp) noexcept {
    asleep = true;
    asleep_since = stamp;
  }

  /// Whether something has happened since it fell asleep that its next step depends on.
  bool woken(const location& at, memory model) const noexcept {
    const bool writes = next == action::store || next == action::update;
    const bool by_reads = writes && model == memory::sc;
    return (by_reads ? at.access_stamp : at.write_stamp) > asleep_since;
  }

  /// Its next step is chosen. When it was asleep, what it could read before was explored.
  void get_up(memory model) noexcept {
    const bool locks = next == action::lock || next == action::try_lock;
    fresh = asleep && !locks && model == memory::c11 ? asleep_since : 0;
    asleep = false;
  }

  void begin(unsigned index, std::function<void()> work) {
    finished = asleep = false;
    next = action::start;
    fresh = own_writes = seen_writes = 0;
    trail.clear();
    clocks = {};
    clocks.thread = index;
    body = std::move(work);
  }
};

}  // namespace heddle::explore
