#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace heddle {

/// A count that one thread writes and any thread reads. Relaxed: each count stands alone, a reader
/// gets a value that was true a moment ago.
class counter {
 public:
  void add(std::uint64_t amount = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  std::uint64_t load() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// One worker's counters. Threads: the worker writes, any thread reads.
template <class Count>
struct basic_counters {
  Count fibers_spawned{};    ///< fibers started by this worker
  Count fibers_finished{};   ///< fibers that ended on this worker
  Count fibers_run{};        ///< switches to a fiber
  Count pushes{};            ///< fibers put into a run queue
  Count overflows{};         ///< pushes that a full queue sent to the overflow queue
  Count overflow_pops{};     ///< fibers taken from the overflow queue
  Count steal_attempts{};    ///< looks at another worker's queue
  Count steals{};            ///< looks that found work
  Count stolen_fibers{};     ///< fibers that steals moved
  Count failed_steals{};     ///< looks that found nothing or lost a race
  Count parks{};             ///< waits of a worker without work
  Count wakes{};             ///< wake-ups of a sleeping worker that this worker sent
  Count polls{};             ///< calls of the poller
  Count completions{};       ///< operations that the poller completed
  Count timers_armed{};      ///< timers armed
  Count timers_cancelled{};  ///< timers removed before their time
  Count timer_fires{};       ///< timers that expired
  Count syscalls_wait{};     ///< epoll_wait or io_uring_enter calls
  Count syscalls_read{};     ///< recv, read and accept calls
  Count syscalls_write{};    ///< send, write and connect calls
  Count syscalls_control{};  ///< epoll_ctl and eventfd calls
  Count suspended_reads{};   ///< reads that had to wait
  Count ring_submissions{};  ///< submission queue entries handed to io_uring
};

using worker_counters = basic_counters<counter>;
using counter_values = basic_counters<std::uint64_t>;

/// One count by its name, in a worker's counters and in a sum.
struct counter_field {
  const char* name;
  counter worker_counters::*of_worker;
  std::uint64_t counter_values::*of_sum;
};

inline constexpr std::array counter_fields = {
    counter_field{"fibers_spawned", &worker_counters::fibers_spawned,
                  &counter_values::fibers_spawned},
    counter_field{"fibers_finished", &worker_counters::fibers_finished,
                  &counter_values::fibers_finished},
    counter_field{"fibers_run", &worker_counters::fibers_run, &counter_values::fibers_run},
    counter_field{"pushes", &worker_counters::pushes, &counter_values::pushes},
    counter_field{"overflows", &worker_counters::overflows, &counter_values::overflows},
    counter_field{"overflow_pops", &worker_counters::overflow_pops, &counter_values::overflow_pops},
    counter_field{"steal_attempts", &worker_counters::steal_attempts,
                  &counter_values::steal_attempts},
    counter_field{"steals", &worker_counters::steals, &counter_values::steals},
    counter_field{"stolen_fibers", &worker_counters::stolen_fibers, &counter_values::stolen_fibers},
    counter_field{"failed_steals", &worker_counters::failed_steals, &counter_values::failed_steals},
    counter_field{"parks", &worker_counters::parks, &counter_values::parks},
    counter_field{"wakes", &worker_counters::wakes, &counter_values::wakes},
    counter_field{"polls", &worker_counters::polls, &counter_values::polls},
    counter_field{"completions", &worker_counters::completions, &counter_values::completions},
    counter_field{"timers_armed", &worker_counters::timers_armed, &counter_values::timers_armed},
    counter_field{"timers_cancelled", &worker_counters::timers_cancelled,
                  &counter_values::timers_cancelled},
    counter_field{"timer_fires", &worker_counters::timer_fires, &counter_values::timer_fires},
    counter_field{"syscalls_wait", &worker_counters::syscalls_wait, &counter_values::syscalls_wait},
    counter_field{"syscalls_read", &worker_counters::syscalls_read, &counter_values::syscalls_read},
    counter_field{"syscalls_write", &worker_counters::syscalls_write,
                  &counter_values::syscalls_write},
    counter_field{"syscalls_control", &worker_counters::syscalls_control,
                  &counter_values::syscalls_control},
    counter_field{"suspended_reads", &worker_counters::suspended_reads,
                  &counter_values::suspended_reads},
    counter_field{"ring_submissions", &worker_counters::ring_submissions,
                  &counter_values::ring_submissions},
};
static_assert(sizeof(counter_values) == counter_fields.size() * sizeof(std::uint64_t),
              "counter_fields names every counter");

/// Adds one worker's counters to `sum`.
inline void add_to(counter_values& sum, const worker_counters& counters) noexcept {
  for (const counter_field& field : counter_fields)
    sum.*field.of_sum += (counters.*field.of_worker).load();
}

}  // namespace heddle
