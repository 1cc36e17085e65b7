#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

#include <explore/explorer.hpp>

namespace heddle::explore {

using code = std::source_location;

/// A value of at most 8 bytes as the word that the engine keeps.
template <class T>
std::uint64_t to_word(T value) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}

template <class T>
T from_word(std::uint64_t word) noexcept {
  T value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

template <class T>
constexpr value_kind kind_of() noexcept {
  if (std::is_same_v<T, bool>) return value_kind::boolean;
  if (std::is_pointer_v<T>) return value_kind::address;
  return value_kind::number;
}

struct borrowed {};

/// std::atomic as a step of the model. compare_exchange_weak does not fail spuriously.
template <class T>
class model_atomic : private tracked {
  static_assert(sizeof(T) <= sizeof(std::uint64_t) && std::is_trivially_copyable_v<T>);
  static constexpr std::memory_order seq_cst = std::memory_order_seq_cst;

 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = true;

  model_atomic(T value = T{}, code where = code::current()) noexcept {
    explorer::current().construct(*this, 'a', kind_of<T>(), where);
    explorer::current().initialise(*this, to_word(value));
  }
  /// Stands for a plain object: it is there before the first use, and outlives the execution.
  model_atomic(T value, borrowed, code where) noexcept {
    explorer::current().construct(*this, 'r', kind_of<T>(), where);
    explorer::current().initialise(*this, to_word(value));
  }
  model_atomic(const model_atomic&) = delete;
  model_atomic& operator=(const model_atomic&) = delete;
  ~model_atomic() {
    if (explorer::exists()) explorer::current().destroy(*this);
  }

  T load(std::memory_order order = seq_cst, code where = code::current()) const noexcept {
    const access wanted{.reads = true, .order = order};
    return from_word<T>(explorer::current().operate(*this, wanted, second, 0, "load", where).first);
  }

  void store(T value, std::memory_order order = seq_cst, code where = code::current()) noexcept {
    const access wanted{.writes = true, .order = order};
    explorer::current().operate(*this, wanted, second, to_word(value), "store", where);
  }

  T exchange(T value, std::memory_order order = seq_cst, code where = code::current()) noexcept {
    return update(second, to_word(value), order, "exchange", where);
  }

  bool compare_exchange_strong(T& expected, T desired, std::memory_order order,
                               std::memory_order failure, code where = code::current()) noexcept {
    const access wanted{.reads = true,
                        .writes = true,
                        .conditional = true,
                        .expected = to_word(expected),
                        .order = order,
                        .failure = failure};
    const auto [seen, wrote] = explorer::current().operate(*this, wanted, second, to_word(desired),
                                                           "compare-exchange", where);
    if (!wrote) expected = from_word<T>(seen);
    return wrote;
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order = seq_cst,
                               code where = code::current()) noexcept {
    return compare_exchange_strong(expected, desired, order, without_release(order), where);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order order,
                             std::memory_order failure, code where = code::current()) noexcept {
    return compare_exchange_strong(expected, desired, order, failure, where);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order order = seq_cst,
                             code where = code::current()) noexcept {
    return compare_exchange_strong(expected, desired, order, without_release(order), where);
  }

  /// For integers; for pointers the argument is a distance.
  template <class Argument>
  T fetch_add(Argument argument, std::memory_order order = seq_cst,
              code where = code::current()) noexcept {
    return update(
        [](std::uint64_t seen, std::uint64_t by) {
          return to_word(static_cast<T>(from_word<T>(seen) + static_cast<std::ptrdiff_t>(by)));
        },
        static_cast<std::uint64_t>(argument), order, "fetch_add", where);
  }
  template <class Argument>
  T fetch_sub(Argument argument, std::memory_order order = seq_cst,
              code where = code::current()) noexcept {
    return update(
        [](std::uint64_t seen, std::uint64_t by) {
          return to_word(static_cast<T>(from_word<T>(seen) - static_cast<std::ptrdiff_t>(by)));
        },
        static_cast<std::uint64_t>(argument), order, "fetch_sub", where);
  }
  T fetch_or(T argument, std::memory_order order = seq_cst, code where = code::current()) noexcept {
    return update([](std::uint64_t seen, std::uint64_t by) { return seen | by; }, to_word(argument),
                  order, "fetch_or", where);
  }
  T fetch_and(T argument, std::memory_order order = seq_cst,
              code where = code::current()) noexcept {
    return update([](std::uint64_t seen, std::uint64_t by) { return seen & by; }, to_word(argument),
                  order, "fetch_and", where);
  }
  T fetch_xor(T argument, std::memory_order order = seq_cst,
              code where = code::current()) noexcept {
    return update([](std::uint64_t seen, std::uint64_t by) { return seen ^ by; }, to_word(argument),
                  order, "fetch_xor", where);
  }

  bool is_lock_free() const noexcept { return true; }

 private:
  static std::uint64_t second(std::uint64_t, std::uint64_t argument) { return argument; }

  static constexpr std::memory_order without_release(std::memory_order order) noexcept {
    if (order == std::memory_order_acq_rel) return std::memory_order_acquire;
    return order == std::memory_order_release ? std::memory_order_relaxed : order;
  }

  T update(combination combine, std::uint64_t argument, std::memory_order order, const char* name,
           code where) noexcept {
    const access wanted{.reads = true, .writes = true, .order = order};
    return from_word<T>(
        explorer::current().operate(*this, wanted, combine, argument, name, where).first);
  }
};

/// A plain object: an access is no step of its own, since its place among the steps of others makes
/// no difference unless there is a data race, and that is found wherever it stands.
template <class T>
class model_cell : private tracked {
 public:
  explicit model_cell(T value = T{}, code where = code::current()) noexcept : value_(value) {
    explorer::current().construct(*this, 'c', value_kind::number, where);
    explorer::current().write_cell(*this, where);
  }
  model_cell(const model_cell&) = delete;
  model_cell& operator=(const model_cell&) = delete;
  ~model_cell() {
    if (explorer::exists()) explorer::current().destroy(*this);
  }

  T load(code where = code::current()) const {
    explorer::current().read_cell(*this, where);
    return value_;
  }
  void store(T value, code where = code::current()) {
    explorer::current().write_cell(*this, where);
    value_ = value;
  }

 private:
  T value_{};
};

class model_mutex : private tracked {
 public:
  explicit model_mutex(code where = code::current()) noexcept {
    explorer::current().construct(*this, 'm', value_kind::none, where);
  }
  model_mutex(const model_mutex&) = delete;
  model_mutex& operator=(const model_mutex&) = delete;
  ~model_mutex() {
    if (explorer::exists()) explorer::current().destroy(*this);
  }

  void lock(code where = code::current()) noexcept { explorer::current().lock(*this, where); }
  bool try_lock(code where = code::current()) noexcept {
    return explorer::current().try_lock(*this, where);
  }
  void unlock(code where = code::current()) noexcept { explorer::current().unlock(*this, where); }
};

/// What a thread sleeps on until another wakes it: wait() returns once for each wake(), which
/// may come first.
class event : private tracked {
 public:
  explicit event(code where = code::current()) noexcept {
    explorer::current().construct(*this, 'e', value_kind::none, where);
  }
  /// The kernel's: whoever finds it may use it.
  event(borrowed, code where) noexcept {
    explorer::current().construct(*this, 'f', value_kind::none, where);
  }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() {
    if (explorer::exists()) explorer::current().destroy(*this);
  }

  void wait(code where = code::current()) noexcept { explorer::current().lock(*this, where); }
  void wake(code where = code::current()) noexcept { explorer::current().wake(*this, where); }
};

}  // namespace heddle::explore
