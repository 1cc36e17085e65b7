#include <heddle/base/clock.hpp>

namespace heddle {

std::uint64_t cycles_per_us() noexcept {
  static const std::uint64_t rate = [] {
    const std::uint64_t start_ns = now_ns();
    const std::uint64_t start = cycle_count();
    std::uint64_t elapsed_ns;
    do elapsed_ns = now_ns() - start_ns;
    while (elapsed_ns < 200'000);
    const std::uint64_t rate = (cycle_count() - start) * 1000 / elapsed_ns;
    return rate == 0 ? 1 : rate;
  }();
  return rate;
}

}  // namespace heddle
