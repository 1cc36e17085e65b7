#pragma once

#include <heddle/base/mcs_lock.hpp>
#include <heddle/queues/locked_list.hpp>

namespace heddle {

/// The list of locked_list.hpp under the list-based lock of Mellor-Crummey and Scott: fair, and
/// each waiter looks at a word of its own.
struct locking_mcs {
  static constexpr queue_traits traits = locked_list_traits;

  template <class T, class Platform>
  using type = locked_list<T, Platform, mcs_lock<Platform>>;
};

static_assert(run_queue<locking_mcs::type<queue_hook*, native>, queue_hook*>);

}  // namespace heddle
