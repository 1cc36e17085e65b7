#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <explore/explore.hpp>

#include "calls.hpp"
#include <heddle/base/platform.hpp>

namespace heddle::mutants {

/// Where a client runs: under the explorer.
struct model_threads {
  using platform = explore::model;
  using clock = history::step_clock;

  /// Mode sc has a common time, mode c11 has none.
  static inline bool in_real_time = false;

  static history::precedence order(const history::recording& calls) {
    return in_real_time ? history::real_time_order(calls) : history::causal_order(calls);
  }

  /// Runs the parts at the same time, the first on the calling thread.
  template <class First, class... Others>
  static void together(First&& first, Others&&... others) {
    std::array<explore::thread, sizeof...(others)> threads{
        explore::thread(std::forward<Others>(others))...};
    first();
    for (explore::thread& one : threads) one.join();
  }

  static void require(const history::verdict& verdict) {
    if (!verdict) explore::require(false, verdict.why.substr(0, verdict.why.find('\n')).c_str());
  }
};

/// Real threads that wait in a loop for the next part, so that the parts of one run start within
/// fractions of a microsecond of each other.
class crew {
 public:
  crew() {
    for (member& one : members_) one.thread = std::thread([&one] { one.work(); });
  }
  ~crew() {
    for (member& one : members_) {
      one.give(nullptr, nullptr, 0);
      one.thread.join();
    }
  }

  template <class First, class... Others>
  void together(First& first, Others&... others) {
    std::array<std::function<void()>, sizeof...(others)> parts{std::ref(others)...};
    std::atomic<std::size_t> arrived{0};
    for (std::size_t at = 0; at < parts.size(); ++at) {
      members_[at].give(&parts[at], &arrived, parts.size() + 1);
    }
    meet(arrived, parts.size() + 1);
    first();
    for (std::size_t at = 0; at < parts.size(); ++at) members_[at].wait();
  }

 private:
  static void meet(std::atomic<std::size_t>& arrived, std::size_t all) {
    arrived.fetch_add(1, std::memory_order_acq_rel);
    backoff<native> pause;
    while (arrived.load(std::memory_order_acquire) != all) pause();
  }

  struct member {
    // [given] release → acquire in work: the part. [done] release → acquire in wait: its effects.
    std::atomic<bool> busy{false};
    const std::function<void()>* part = nullptr;
    std::atomic<std::size_t>* arrived = nullptr;
    std::size_t all = 0;
    std::thread thread;

    void give(const std::function<void()>* given, std::atomic<std::size_t>* line,
              std::size_t size) {
      part = given;
      arrived = line;
      all = size;
      busy.store(true, std::memory_order_release);  // [given]
    }

    void wait() {
      backoff<native> pause;
      while (busy.load(std::memory_order_acquire)) pause();  // [done]
    }

    void work() {
      for (;;) {
        backoff<native> pause(10'000);
        while (!busy.load(std::memory_order_acquire)) pause();  // [given]
        if (!part) return;
        meet(*arrived, all);
        (*part)();
        busy.store(false, std::memory_order_release);  // [done]
      }
    }
  };

  std::array<member, 2> members_;
};

/// Where a client runs: on real threads. The thread that runs it has a crew.
struct real_threads {
  using platform = native;
  using clock = history::shared_clock;

  static history::precedence order(const history::recording& calls) {
    return history::real_time_order(calls);
  }

  static std::unique_ptr<crew>& helpers() {
    thread_local std::unique_ptr<crew> mine;
    return mine;
  }

  template <class... Parts>
  static void together(Parts&&... parts) {
    helpers()->together(parts...);
  }

  static void require(const history::verdict& verdict) {
    if (!verdict) throw std::runtime_error(verdict.why);
  }
};

}  // namespace heddle::mutants
