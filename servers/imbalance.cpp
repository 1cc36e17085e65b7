#include <atomic>

#include "answer_reads.hpp"
#include "application.hpp"
#include "spin.hpp"
#include "xorshift.hpp"

namespace heddle::servers {
namespace {

constexpr parameter parameters[] = {
    {"short_us", "how long most requests spin, us", 1, 0, 10'000'000},
    {"long_us", "how long the others spin, us", 1000, 0, 10'000'000},
    {"long_percent", "share of the others, %", 1, 0, 100},
};

/// Few requests take much longer than most: what waits behind them, and what others take over. The
/// first connection draws the same lengths in every run, and so does each after it.
class imbalance_service final : public service {
 public:
  imbalance_service(const parameter_values& values, unsigned)
      : short_ns_(values.number("short_us") * std::uint64_t{1000}),
        long_ns_(values.number("long_us") * std::uint64_t{1000}),
        long_percent_(values.number("long_percent")) {}

  void serve(socket peer) override {
    // Relaxed: only the number matters.
    xorshift random(connections_.fetch_add(1, std::memory_order_relaxed));
    answer_reads(peer, deadline::never(), [&] {
      spin(random.next(100) < long_percent_ ? long_ns_ : short_ns_);
      return true;
    });
  }

 private:
  const std::uint64_t short_ns_;
  const std::uint64_t long_ns_;
  const std::uint32_t long_percent_;
  std::atomic<std::uint64_t> connections_{0};
};

}  // namespace

extern const application imbalance{"imbalance", parameters, make_service<imbalance_service>};

}  // namespace heddle::servers
