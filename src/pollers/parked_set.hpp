#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace heddle {

/// The workers that sleep in a poller of their own, as bits. Whoever clears a worker's bit decides
/// how its sleep ends: a waker, who then must wake it, or the worker itself. Threads: any; mark and
/// unmark are worker `index`'s own.
class parked_set {
 public:
  static constexpr std::size_t most_workers = 1024;

  /// [parked] acq_rel on both sides. The worker marks itself before it announces its sleep to the
  /// idle protocol, whose fence thereby orders the mark before the last look for work.
  void mark(unsigned index) noexcept {
    words_[index / 64].fetch_or(bit(index), std::memory_order_acq_rel);
  }

  /// False: a waker was first.
  bool unmark(unsigned index) noexcept {
    return (words_[index / 64].fetch_and(~bit(index), std::memory_order_acq_rel) & bit(index)) != 0;
  }

  /// Takes some parked worker out; the caller must wake it.
  std::optional<unsigned> take_one() noexcept {
    for (unsigned i = 0; i < words_.size(); ++i) {
      std::uint64_t seen = words_[i].load(std::memory_order_acquire);
      while (seen != 0) {
        if (words_[i].compare_exchange_weak(seen, seen & (seen - 1), std::memory_order_acq_rel,
                                            std::memory_order_acquire))
          return i * 64 + static_cast<unsigned>(std::countr_zero(seen));
      }
    }
    return std::nullopt;
  }

 private:
  static std::uint64_t bit(unsigned index) noexcept { return std::uint64_t{1} << (index % 64); }

  std::array<std::atomic<std::uint64_t>, most_workers / 64> words_{};
};

}  // namespace heddle
