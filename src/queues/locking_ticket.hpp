#pragma once

#include <heddle/base/ticket_lock.hpp>
#include <heddle/queues/locked_list.hpp>

namespace heddle {

/// The list of locked_list.hpp under a ticket lock: whoever comes first is served first.
struct locking_ticket {
  static constexpr queue_traits traits = locked_list_traits;

  template <class T, class Platform>
  using type = locked_list<T, Platform, ticket_lock<Platform>>;
};

static_assert(run_queue<locking_ticket::type<queue_hook*, native>, queue_hook*>);

}  // namespace heddle
