#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace heddle {

/// Every constant of scheduling policy of one runtime. Each can be set by name (ranges:
/// tuning_fields) and is recorded with each result.
struct tuning {
  std::uint32_t poll_interval_fibers = 64;
  std::uint32_t poll_interval_us = 200;
  std::uint32_t overflow_interval_fibers = 61;
  std::uint32_t deque_interval_fibers = 4;
  std::uint32_t steal_most_fibers = 128;
  std::uint32_t steal_rounds = 2;
  std::uint32_t random_victims = 1;
  std::uint32_t most_searchers_percent = 50;
  std::uint32_t poll_before_park = 1;
  std::uint32_t spin_before_park = 0;
  std::uint32_t wake_after_fibers = 16;
  std::uint32_t watch_interval_us = 5000;
  std::uint32_t lifo_slot = 0;
  std::uint32_t lifo_slot_most_in_row = 3;
  std::uint32_t harvest_events = 32;
  std::uint32_t submit_batch = 32;
  std::uint32_t submit_delay_us = 50;
  std::uint32_t ring_entries = 512;
  std::uint32_t receive_buffers = 1024;
  std::uint32_t sqpoll_idle_ms = 0;

  /// A named preset. Errors: std::invalid_argument that lists the presets.
  static tuning preset(std::string_view name);

  /// Applies "NAME=VALUE", or "preset=NAME". Errors: std::invalid_argument that says what is
  /// allowed.
  void set(std::string_view assignment);
};

/// One value of `tuning`: its name, range and meaning.
struct tuning_field {
  std::string_view name;
  std::uint32_t tuning::*value;
  std::uint32_t least;
  std::uint32_t most;
  std::string_view meaning;
};

inline constexpr std::array tuning_fields = {
    tuning_field{"poll_interval_fibers", &tuning::poll_interval_fibers, 1, 1000000,
                 "fibers between two polls of a busy worker"},
    tuning_field{"poll_interval_us", &tuning::poll_interval_us, 1, 1000000,
                 "most time between two polls of a busy worker, us"},
    tuning_field{"overflow_interval_fibers", &tuning::overflow_interval_fibers, 1, 1000000,
                 "fibers between two looks at the overflow queue of a busy worker"},
    tuning_field{"deque_interval_fibers", &tuning::deque_interval_fibers, 1, 1000000,
                 "the same where a worker runs its newest fiber first and yields go there"},
    tuning_field{"steal_most_fibers", &tuning::steal_most_fibers, 1, 65536,
                 "most fibers that one steal takes, besides half"},
    tuning_field{"steal_rounds", &tuning::steal_rounds, 1, 1000,
                 "looks at every victim before a worker parks"},
    tuning_field{"random_victims", &tuning::random_victims, 0, 1,
                 "1: a search starts at a random victim; 0: at the next worker"},
    tuning_field{"most_searchers_percent", &tuning::most_searchers_percent, 1, 100,
                 "most workers that search at once, % of all"},
    tuning_field{"poll_before_park", &tuning::poll_before_park, 0, 1,
                 "1: look for events without waiting before announcing a sleep"},
    tuning_field{"spin_before_park", &tuning::spin_before_park, 0, 1000000,
                 "looks at every source, with a pause, before parking"},
    tuning_field{"wake_after_fibers", &tuning::wake_after_fibers, 0, 1000000,
                 "fibers a worker runs beside waiting ones before it wakes another; 0: at once"},
    tuning_field{"watch_interval_us", &tuning::watch_interval_us, 10, 1000000,
                 "longest that a wake-up is put off for wake_after_fibers, us"},
    tuning_field{"lifo_slot", &tuning::lifo_slot, 0, 1,
                 "1: a fiber woken by a fiber runs next, ahead of the queue"},
    tuning_field{"lifo_slot_most_in_row", &tuning::lifo_slot_most_in_row, 1, 1000,
                 "fibers in a row that may come from the LIFO slot"},
    tuning_field{"harvest_events", &tuning::harvest_events, 1, 1024,
                 "most events that one epoll_wait takes"},
    tuning_field{"submit_batch", &tuning::submit_batch, 1, 1024,
                 "waiting submissions at which a busy worker enters the ring"},
    tuning_field{"submit_delay_us", &tuning::submit_delay_us, 0, 1000000,
                 "longest a submission waits on a busy worker, us"},
    tuning_field{"ring_entries", &tuning::ring_entries, 2, 32768,
                 "submission entries of each worker's io_uring"},
    tuning_field{"receive_buffers", &tuning::receive_buffers, 0, 32768,
                 "most buffers, of 2 KiB, of each io_uring for receives that stay armed; 0: none"},
    tuning_field{"sqpoll_idle_ms", &tuning::sqpoll_idle_ms, 0, 60000,
                 "a kernel thread takes submissions until none came for so long, ms; 0: no thread"},
};
static_assert(sizeof(tuning) == tuning_fields.size() * sizeof(std::uint32_t),
              "tuning_fields names every value");

}  // namespace heddle
