#include <chrono>

#include "answer_reads.hpp"
#include "application.hpp"
#include "xorshift.hpp"
#include <heddle/fibers/spawn.hpp>
#include <heddle/time/sleep.hpp>

namespace heddle::servers {
namespace {

constexpr parameter parameters[] = {
    {"sleep_us", "how long a request sleeps, us", 1000, 0, 10'000'000},
    {"idle", "other fibers, which sleep 10 to 100 ms over and over", 10'000, 0, 1'000'000},
};

/// Each request sleeps, beside many fibers that only sleep: what timers cost.
class sleepers_service final : public service {
 public:
  sleepers_service(const parameter_values& values, unsigned)
      : sleep_(values.number("sleep_us")), idle_(values.number("idle")) {}

  void start() override {
    for (std::uint32_t i = 0; i < idle_; ++i) spawn(sleep_over_and_over, i);
  }

  void serve(socket peer) override {
    answer_reads(peer, deadline::never(), [this] {
      static_cast<void>(sleep_for(sleep_));  // a stop ends it early: the answer is due all the same
      return true;
    });
  }

 private:
  static void sleep_over_and_over(std::uint32_t number) {
    xorshift random(number);
    while (sleep_for(std::chrono::microseconds(10'000 + random.next(90'001)))) {
    }
  }

  const std::chrono::microseconds sleep_;
  const std::uint32_t idle_;
};

}  // namespace

extern const application sleepers{"sleepers", parameters, make_service<sleepers_service>};

}  // namespace heddle::servers
