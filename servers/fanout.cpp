#include <vector>

#include "answer_reads.hpp"
#include "application.hpp"
#include "spin.hpp"
#include <heddle/fibers/spawn.hpp>

namespace heddle::servers {
namespace {

constexpr parameter parameters[] = {
    {"fibers", "fibers that a request spawns and joins", 8, 1, 10'000},
    {"work_ns", "how long each of them spins, ns", 0, 0, 1'000'000'000},
};

/// Each request is split into fibers: what spawning, scheduling and joining cost.
class fanout_service final : public service {
 public:
  fanout_service(const parameter_values& values, unsigned)
      : fibers_(values.number("fibers")), work_ns_(values.number("work_ns")) {}

  void serve(socket peer) override {
    std::vector<join_handle<void>> parts;
    parts.reserve(fibers_);
    answer_reads(peer, deadline::never(), [&] {
      for (std::uint32_t i = 0; i < fibers_; ++i) parts.push_back(spawn(spin, work_ns_));
      for (join_handle<void>& part : parts) part.join();
      parts.clear();
      return true;
    });
  }

 private:
  const std::uint32_t fibers_;
  const std::uint64_t work_ns_;
};

}  // namespace

extern const application fanout{"fanout", parameters, make_service<fanout_service>};

}  // namespace heddle::servers
