#pragma once

#include <heddle/base/spinning_mutex.hpp>
#include <heddle/queues/locked_list.hpp>

namespace heddle {

/// The list of locked_list.hpp under a lock that spins for a moment before it sleeps.
struct locking_spin {
  static constexpr queue_traits traits = locked_list_traits;

  template <class T, class Platform>
  using type = locked_list<T, Platform, spinning_mutex<Platform>>;
};

static_assert(run_queue<locking_spin::type<queue_hook*, native>, queue_hook*>);

}  // namespace heddle
