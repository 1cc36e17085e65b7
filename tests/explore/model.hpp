#pragma once

#include <atomic>
#include <cstdint>

#include <explore/model_atomic.hpp>
#include <explore/model_futex.hpp>

namespace heddle::explore {

/// The platform on which everything that queues and protocols do to shared memory is explored; see
/// heddle::native for the names.
struct model {
  static constexpr bool explored = true;

  template <class T>
  using atomic = model_atomic<T>;
  template <class T>
  using atomic_ref = model_atomic_ref<T>;
  template <class T>
  using cell = model_cell<T>;
  using mutex = model_mutex;

  static void fence(std::memory_order order, code where = code::current()) noexcept {
    explorer::current().fence(order, where);
  }
  static void fence_after_update(code where = code::current()) noexcept {
    explorer::current().fence(std::memory_order_seq_cst, where);
  }
  static void pause(code where = code::current()) noexcept { explorer::current().pause(where); }
  static void yield_thread(code where = code::current()) noexcept {
    explorer::current().pause(where);
  }

  static void wait(const atomic<std::uint32_t>& word, std::uint32_t expected,
                   code where = code::current()) noexcept {
    futexes::wait(word, expected, where);
  }
  static void notify_one(const atomic<std::uint32_t>* word, code where = code::current()) noexcept {
    futexes::notify(word, 1, where);
  }
  static void notify_all(const atomic<std::uint32_t>* word, code where = code::current()) noexcept {
    futexes::notify(word, most_threads, where);
  }
};

}  // namespace heddle::explore
