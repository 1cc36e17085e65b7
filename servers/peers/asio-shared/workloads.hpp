#pragma once

// The workloads as Asio expresses them. Asio has no fiber to wait in, no mutex and no channel: a
// task is a handler that is posted, what follows a wait is the handler of its end, a strand stands
// for a mutex and for a stage that takes one request at a time (its queue has no bound), and a
// timer that never fires, whose waits are cancelled one by one, for a condition variable.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include "common/asio_work.hpp"
#include "common/spin.hpp"
#include "common/workload_options.hpp"
#include "common/xorshift.hpp"

namespace peers {

using asio_strand = asio::strand<asio_executor>;

/// The last task to end goes on with the connection: nobody is woken for that.
template <>
class asio_work<protocol::fanout> {
 public:
  using options = fanout_options;

  asio_work(const asio_executor& executor, const options& options, unsigned)
      : executor_(executor), options_(options) {}

  class of_connection {
   public:
    of_connection(asio_work& shared, std::uint64_t) : shared_(shared) {}

    template <class Then>
    void run(Then then) {
      const auto tasks = std::make_shared<group<Then>>(std::move(then), shared_.options_.fibers);
      for (std::uint64_t task = 0; task < shared_.options_.fibers; ++task) {
        asio::post(shared_.executor_, [tasks, duration_ns = shared_.options_.work_ns] {
          spin_ns(duration_ns);
          // Acquire and release: what every task did is done before what follows them.
          if (tasks->left.fetch_sub(1, std::memory_order_acq_rel) == 1) tasks->then();
        });
      }
    }

   private:
    template <class Then>
    struct group {
      group(Then then, std::uint64_t count) : then(std::move(then)), left(count) {}
      Then then;
      std::atomic<std::uint64_t> left;
    };

    asio_work& shared_;
  };

 private:
  asio_executor executor_;
  options options_;
};

/// A stage is a strand; a request goes on to the next by being posted to it.
template <>
class asio_work<protocol::pipeline> {
 public:
  using options = pipeline_options;

  asio_work(const asio_executor& executor, const options& options, unsigned workers)
      : executor_(executor) {
    lanes_.resize(workers);
    for (auto& stages : lanes_) {
      for (std::uint64_t hop = 0; hop < options.hops; ++hop) stages.emplace_back(executor);
    }
  }

  class of_connection {
   public:
    of_connection(asio_work& shared, std::uint64_t index)
        : shared_(shared), stages_(shared.lanes_[index % shared.lanes_.size()]) {}

    template <class Then>
    void run(Then then) {
      pass(0, std::move(then));
    }

   private:
    template <class Then>
    void pass(std::size_t hop, Then then) {
      if (hop == stages_.size()) return asio::post(shared_.executor_, std::move(then));
      asio::post(stages_[hop],
                 [this, hop, then = std::move(then)]() mutable { pass(hop + 1, std::move(then)); });
    }

    asio_work& shared_;
    std::vector<asio_strand>& stages_;
  };

 private:
  asio_executor executor_;
  std::vector<std::vector<asio_strand>> lanes_;
};

template <>
class asio_work<protocol::imbalance> {
 public:
  using options = imbalance_options;

  asio_work(const asio_executor&, const options& options, unsigned) : options_(options) {}

  class of_connection {
   public:
    of_connection(asio_work& shared, std::uint64_t index)
        : options_(shared.options_), random_(index) {}

    template <class Then>
    void run(Then then) {
      const bool is_long = random_.below(100) < options_.long_percent;
      spin_ns(1000 * (is_long ? options_.long_us : options_.short_us));
      then();
    }

   private:
    const options& options_;
    xorshift random_;
  };

 private:
  options options_;
};

/// With `condition` the strand guards a flag only; who has set it spins outside.
template <>
class asio_work<protocol::contended> {
 public:
  using options = contended_options;

  asio_work(const asio_executor& executor, const options& options, unsigned)
      : executor_(executor), options_(options), strand_(executor), condition_(executor) {
    condition_.expires_at(std::chrono::steady_clock::time_point::max());
  }

  class of_connection {
   public:
    of_connection(asio_work& shared, std::uint64_t) : shared_(shared) {}

    template <class Then>
    void run(Then then) {
      asio::post(shared_.strand_, [&shared = shared_, then = std::move(then)]() mutable {
        if (shared.options_.waits_for_condition()) return shared.use_flag(std::move(then));
        spin_ns(shared.options_.hold_ns);
        asio::post(shared.executor_, std::move(then));
      });
    }

   private:
    asio_work& shared_;
  };

 private:
  /// On the strand.
  template <class Then>
  void use_flag(Then then) {
    if (is_busy_) {
      condition_.async_wait(asio::bind_executor(
          strand_,
          [this, then = std::move(then)](error_code) mutable { use_flag(std::move(then)); }));
      return;
    }
    is_busy_ = true;
    asio::post(executor_, [this, then = std::move(then)]() mutable {
      spin_ns(options_.hold_ns);
      asio::post(strand_, [this, then = std::move(then)]() mutable {
        is_busy_ = false;
        condition_.cancel_one();
        asio::post(executor_, std::move(then));
      });
    });
  }

  asio_executor executor_;
  options options_;
  asio_strand strand_;
  asio_timer condition_;  // used on the strand
  bool is_busy_ = false;  // used on the strand
};

template <>
class asio_work<protocol::sleepers> {
 public:
  using options = sleepers_options;

  asio_work(const asio_executor& executor, const options& options, unsigned)
      : executor_(executor), options_(options) {
    for (std::uint64_t index = 0; index < options.idle; ++index) {
      idle_.push_back(std::make_unique<sleeper>(executor, index));
      idle_.back()->sleep();
    }
  }

  class of_connection {
   public:
    of_connection(asio_work& shared, std::uint64_t)
        : options_(shared.options_), timer_(shared.executor_) {}

    template <class Then>
    void run(Then then) {
      timer_.expires_after(std::chrono::microseconds(options_.sleep_us));
      timer_.async_wait([then = std::move(then)](error_code) mutable { then(); });
    }

   private:
    const options& options_;
    asio_timer timer_;
  };

 private:
  struct sleeper {
    sleeper(const asio_executor& executor, std::uint64_t index) : timer(executor), random(index) {}

    void sleep() {
      timer.expires_after(std::chrono::milliseconds(10 + random.below(91)));
      timer.async_wait([this](error_code error) {
        if (!error) sleep();
      });
    }

    asio_timer timer;
    xorshift random;
  };

  asio_executor executor_;
  options options_;
  std::vector<std::unique_ptr<sleeper>> idle_;
};

}  // namespace peers
