#pragma once

#include <cstdint>

#include <explore/explore.hpp>

#include <heddle/sync/parker.hpp>

namespace heddle::explore {

/// What the cores of sync/ wait with, when they are explored. The time of a timed wait may come at
/// any moment, or never.
class model_parker {
 public:
  template <class Publish>
  void park(Publish publish) {
    if (publish()) woken_.wait();
  }

  template <class Publish>
  bool park_until(std::uint64_t, Publish publish) {
    timed_ = true;
    if (!publish()) return true;
    if (any_below(2) == 1 && end_.claim_by_time()) return false;
    woken_.wait();
    return true;
  }

  bool claim() noexcept { return !timed_ || end_.claim_by_waker(); }
  void wake() noexcept { woken_.wake(); }

  static bool passed(std::uint64_t) noexcept { return false; }
  static const void* self() noexcept {
    return reinterpret_cast<const void*>(std::uintptr_t{explorer::current().index_of_running()} +
                                         1);
  }

 private:
  bool timed_ = false;
  wait_end<model> end_;
  event woken_;
};

static_assert(parks<model_parker>);

}  // namespace heddle::explore
