#pragma once

#include <cstdint>

#include <heddle/base/cache_line.hpp>
#include <heddle/queues/queue_traits.hpp>

namespace heddle {

/// No queue but the bound above all that count their operations on a shared word: a push is one
/// fetch-and-add on a counter, a pop one on another. No item is carried, nothing is ever empty or
/// full.
struct fetch_add {
  static constexpr queue_traits traits{.push_progress = progress::wait_free,
                                       .pop_progress = progress::wait_free};
  /// The benchmark then neither carries items nor waits for them.
  static constexpr bool counter_only = true;

  template <class T, class Platform>
  class type {
   public:
    using handle = stateless_handle;

    explicit type(const queue_options&) {}

    push_result try_push(T, handle&) {
      // acq_rel, as a queue needs; on x86 all orders of a read-modify-write cost the same.
      pushes_.fetch_add(1, std::memory_order_acq_rel);
      return push_result::ok;
    }
    pop_result<T> try_pop(handle&) {
      pops_.fetch_add(1, std::memory_order_acq_rel);
      return {pop_status::item};
    }
    bool maybe_nonempty() const { return false; }
    std::size_t approximate_size() const { return 0; }
    std::size_t capacity() const { return 0; }

   private:
    alignas(cache_line_bytes) typename Platform::template atomic<std::uint64_t> pushes_{0};
    alignas(cache_line_bytes) typename Platform::template atomic<std::uint64_t> pops_{0};
  };
};

static_assert(run_queue<fetch_add::type<void*, native>, void*>);

using queue_under_test = fetch_add;
inline constexpr char queue_name[] = "fetch-add";

}  // namespace heddle
