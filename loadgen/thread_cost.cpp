#include "thread_cost.hpp"

#include <algorithm>
#include <fstream>

#include <sys/resource.h>

#include <heddle/base/clock.hpp>

namespace heddle::load {
namespace {

std::uint64_t ns_of(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_usec) * 1000u;
}

}  // namespace

thread_cost::thread_cost() : start_(read()) {}

void thread_cost::add_to(tally& result) const {
  const reading now = read();
  const std::uint64_t user_ns = now.user_ns - start_.user_ns;
  const std::uint64_t system_ns = now.system_ns - start_.system_ns;
  result.user_ns += user_ns;
  result.system_ns += system_ns;
  const std::uint64_t wall_ns = now.wall_ns - start_.wall_ns;
  if (wall_ns == 0) return;
  const std::uint64_t busy_ns = user_ns + system_ns + now.ready_ns - start_.ready_ns;
  const double share = static_cast<double>(busy_ns) / static_cast<double>(wall_ns);
  result.busiest_share = std::max(result.busiest_share, std::min(share, 1.0));
}

thread_cost::reading thread_cost::read() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  std::uint64_t run_ns = 0;
  std::uint64_t ready_ns = 0;
  std::ifstream("/proc/thread-self/schedstat") >> run_ns >> ready_ns;
  return {now_ns(), ns_of(usage.ru_utime), ns_of(usage.ru_stime), ready_ns};
}

}  // namespace heddle::load
