#pragma once

#include <atomic>
#include <functional>
#include <set>
#include <vector>

#include <explore/explore.hpp>

namespace heddle::explore::litmus {

/// What the threads of a litmus test have read, in the order of their text, or the final values.
using outcome = std::vector<int>;
using outcomes = std::set<outcome>;
using test = std::function<outcome()>;

using order = std::memory_order;
inline constexpr order relaxed = std::memory_order_relaxed;
inline constexpr order acquire = std::memory_order_acquire;
inline constexpr order release = std::memory_order_release;
inline constexpr order acq_rel = std::memory_order_acq_rel;
inline constexpr order seq_cst = std::memory_order_seq_cst;

using variable = model::atomic<int>;

/// All outcomes of a test.
inline outcomes outcomes_of(const test& program, const options& wanted, report* done = nullptr) {
  outcomes seen;
  const report result = explore(wanted, [&] { seen.insert(program()); });
  if (done != nullptr) *done = result;
  return seen;
}

inline outcome message_passing(order publish, order observe) {
  variable data{0}, flag{0};
  int seen_flag = 0, seen_data = 0;
  {
    thread writer([&] {
      data.store(1, relaxed);
      flag.store(1, publish);
    });
    thread reader([&] {
      seen_flag = flag.load(observe);
      seen_data = data.load(relaxed);
    });
  }
  return {seen_flag, seen_data};
}

inline outcome message_passing_by_fences(order publish, order observe) {
  variable data{0}, flag{0};
  int seen_flag = 0, seen_data = 0;
  {
    thread writer([&] {
      data.store(1, relaxed);
      model::fence(publish);
      flag.store(1, relaxed);
    });
    thread reader([&] {
      seen_flag = flag.load(relaxed);
      model::fence(observe);
      seen_data = data.load(relaxed);
    });
  }
  return {seen_flag, seen_data};
}

/// `fence` relaxed: none.
inline outcome store_buffering(order store, order load, order fence = relaxed) {
  variable x{0}, y{0};
  int seen_y = 0, seen_x = 0;
  {
    thread one([&] {
      x.store(1, store);
      model::fence(fence);
      seen_y = y.load(load);
    });
    thread other([&] {
      y.store(1, store);
      model::fence(fence);
      seen_x = x.load(load);
    });
  }
  return {seen_y, seen_x};
}

inline outcome load_buffering() {
  variable x{0}, y{0};
  int seen_x = 0, seen_y = 0;
  {
    thread one([&] {
      seen_x = x.load(relaxed);
      y.store(1, relaxed);
    });
    thread other([&] {
      seen_y = y.load(relaxed);
      x.store(1, relaxed);
    });
  }
  return {seen_x, seen_y};
}

/// Independent reads of independent writes.
inline outcome independent_reads(order store, order load, order fence = relaxed) {
  variable x{0}, y{0};
  outcome seen(4);
  {
    thread writes_x([&] { x.store(1, store); });
    thread writes_y([&] { y.store(1, store); });
    thread reads_x_first([&] {
      seen[0] = x.load(load);
      model::fence(fence);
      seen[1] = y.load(load);
    });
    thread reads_y_first([&] {
      seen[2] = y.load(load);
      model::fence(fence);
      seen[3] = x.load(load);
    });
  }
  return seen;
}

/// Two writes to each of two variables in opposite orders; the final values.
inline outcome two_plus_two_writes(order store) {
  variable x{0}, y{0};
  {
    thread one([&] {
      x.store(1, store);
      y.store(2, store);
    });
    thread other([&] {
      y.store(1, store);
      x.store(2, store);
    });
  }
  return {x.load(relaxed), y.load(relaxed)};
}

/// Coherence of two reads of one thread.
inline outcome read_read() {
  variable x{0};
  int first = 0, second = 0;
  {
    thread writer([&] {
      x.store(1, relaxed);
      x.store(2, relaxed);
    });
    thread reader([&] {
      first = x.load(relaxed);
      second = x.load(relaxed);
    });
  }
  return {first, second};
}

/// Coherence of a read and a later write of one thread: the final value too.
inline outcome read_write() {
  variable x{0};
  int seen = 0;
  {
    thread writer([&] { x.store(1, relaxed); });
    thread reader([&] {
      seen = x.load(relaxed);
      x.store(2, relaxed);
    });
  }
  return {seen, x.load(relaxed)};
}

/// Coherence of a write and a later read of one thread: the final value too.
inline outcome write_read() {
  variable x{0};
  int seen = 0;
  {
    thread writer([&] { x.store(1, relaxed); });
    thread reader([&] {
      x.store(2, relaxed);
      seen = x.load(relaxed);
    });
  }
  return {seen, x.load(relaxed)};
}

/// A flag is published, and changed by an update of another thread, before it is seen.
inline outcome release_sequence_by_update(order update) {
  variable data{0}, flag{0};
  int seen_flag = 0, seen_data = 0;
  {
    thread writer([&] {
      data.store(1, relaxed);
      flag.store(1, release);
    });
    thread updater([&] { flag.fetch_add(2, update); });
    thread reader([&] {
      seen_flag = flag.load(acquire);
      seen_data = data.load(relaxed);
    });
  }
  return {seen_flag, seen_data};
}

/// A flag is published, and stored to by the same thread, before it is seen.
inline outcome release_sequence_by_store() {
  variable data{0}, flag{0};
  int seen_flag = 0, seen_data = 0;
  {
    thread writer([&] {
      data.store(1, relaxed);
      flag.store(1, release);
      flag.store(2, relaxed);
    });
    thread reader([&] {
      seen_flag = flag.load(acquire);
      seen_data = data.load(relaxed);
    });
  }
  return {seen_flag, seen_data};
}

/// What two increments have read, and the sum.
inline outcome two_updates() {
  variable x{0};
  int one_read = 0, other_read = 0;
  {
    thread one([&] { one_read = x.fetch_add(1, relaxed); });
    thread other([&] { other_read = x.fetch_add(1, relaxed); });
  }
  return {one_read, other_read, x.load(relaxed)};
}

/// What an update has read while another thread stores, and the final value.
inline outcome update_and_store() {
  variable x{0};
  int seen = 0;
  {
    thread updater([&] { seen = x.fetch_add(10, relaxed); });
    thread writer([&] { x.store(1, relaxed); });
  }
  return {seen, x.load(relaxed)};
}

/// A write is seen, passed on by another thread, and looked for by a third: writes-to-reads.
inline outcome write_to_read(order pass, order observe) {
  variable x{0}, y{0};
  int seen_first = 0, seen_flag = 0, seen_last = 0;
  {
    thread writer([&] { x.store(1, relaxed); });
    thread middle([&] {
      seen_first = x.load(relaxed);
      y.store(1, pass);
    });
    thread reader([&] {
      seen_flag = y.load(observe);
      seen_last = x.load(relaxed);
    });
  }
  return {seen_first, seen_flag, seen_last};
}

/// R: a write followed by a write, against a write to the second followed by a read of the first.
inline outcome write_against_read(order all, order fence = relaxed) {
  const order load = all == release ? acquire : all;
  variable x{0}, y{0};
  int seen = 0;
  {
    thread one([&] {
      x.store(1, all);
      model::fence(fence);
      y.store(1, all);
    });
    thread other([&] {
      y.store(2, all);
      model::fence(fence);
      seen = x.load(load);
    });
  }
  return {y.load(relaxed), seen};
}

}  // namespace heddle::explore::litmus
