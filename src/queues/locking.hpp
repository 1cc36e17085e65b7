#pragma once

#include <heddle/queues/locked_list.hpp>

namespace heddle {

/// Intrusive FIFO list under the platform's mutex: the plainest run queue, and every scheduler's
/// overflow queue. See locked_list.hpp for what it promises.
struct locking {
  static constexpr queue_traits traits = locked_list_traits;

  template <class T, class Platform>
  using type = locked_list<T, Platform, typename Platform::mutex>;
};

static_assert(run_queue<locking::type<queue_hook*, native>, queue_hook*>);

}  // namespace heddle
