#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <heddle/base/platform.hpp>
#include <heddle/runtime_base.hpp>
#include <heddle/schedulers/deferred_wakes.hpp>
#include <heddle/schedulers/idle.hpp>

namespace heddle {

/// The one place where a scheduler, its queue and a poller meet.
template <class Scheduler, class Poller>
class runtime final : public runtime_base {
  using scheduler_type = typename Scheduler::template type<fiber*, native>;
  using poller_group = typename Poller::group;
  using self_type = runtime;  // worker::runtime() hides the name

 public:
  /// `name`: what name() answers; immortal.
  /// Errors: std::invalid_argument that says what is allowed; std::system_error when the poller
  /// cannot be had, with the reason.
  explicit runtime(runtime_options options = {}, std::string_view name = "custom")
      : runtime_base(std::move(options)),
        name_(name),
        scheduler_(workers(), this->options().tuning,
                   {.capacity_slots = this->options().queue_capacity_slots}),
        idle_(workers(),
              std::max(1u, workers() * this->options().tuning.most_searchers_percent / 100)),
        pollers_(workers(), this->options().tuning) {
    for (unsigned i = 0; i < workers(); ++i)
      workers_.push_back(std::make_unique<loop_worker>(*this, i));
  }

  std::string_view name() const noexcept override { return name_; }

  void cancel(file_reference file, direction which,
              const descriptor_side::closing& closing) noexcept override {
    worker* const current = current_worker();
    const bool is_ours = current != nullptr && &current->runtime() == this;
    pollers_.cancel(file, which, closing, is_ours ? current : nullptr);
  }

 protected:
  void push_from_outside(fiber& fiber) noexcept override {
    scheduler_.push_from_outside(&fiber);
    notify(nullptr);
  }
  void wake_all() noexcept override { pollers_.wake_all(); }
  void loop(unsigned index) noexcept override { workers_[index]->loop(); }
  worker& worker_at(unsigned index) noexcept override { return *workers_[index]; }
  const worker& worker_at(unsigned index) const noexcept override { return *workers_[index]; }
  void prepare_run() override {
    pollers_.prepare_run();
    if (!defers_wakes()) return;
    deferred_.start(std::chrono::microseconds(options().tuning.watch_interval_us),
                    [this] { return look_at_workers(); });
  }
  void after_run() noexcept override { deferred_.end(); }

 private:
  /// Wakes a sleeper if there is one and nobody searches. `sender`: whose counter to use, if any.
  void notify(worker* sender) noexcept {
    if (!idle_.should_wake()) return;
    if (!pollers_.wake_one()) return idle_.wake_failed();
    if (sender != nullptr) sender->counters().wakes.add();
  }

  /// The watch's look: sends deferred wake-ups, and finds workers that one fiber keeps from
  /// polling. False when every worker sleeps.
  bool look_at_workers() noexcept {
    bool stuck = false;
    bool awake = false;
    for (unsigned i = 0; i < workers(); ++i) {
      if (idle_.sleeps(i)) continue;
      awake = true;
      if (workers_[i]->polled_since_last_look()) continue;
      pollers_.mark_stuck(i);
      stuck = true;
    }
    if (stuck || scheduler_.maybe_nonempty()) notify(nullptr);
    return awake;
  }

  bool defers_wakes() const noexcept {
    return workers() > 1 && options().tuning.wake_after_fibers > 0;
  }

  class loop_worker final : public worker {
   public:
    loop_worker(self_type& shared, unsigned index)
        : worker(shared, index),
          shared_(shared),
          tuning_(shared.options().tuning),
          poller_(shared.pollers_, *this, tuning_),
          defers_wakes_(shared.defers_wakes()),
          poll_interval_cycles_(tuning_.poll_interval_us * cycles_per_us()),
          overflow_interval_(scheduler_type::newest_first ? tuning_.deque_interval_fibers
                                                          : tuning_.overflow_interval_fibers) {}

    void make_ready(fiber& fiber) noexcept override {
      if (running() == nullptr) {
        // Between fibers this worker is free to run it: only what it does not take at once needs a
        // wake.
        push(fiber);
        pushed_between_fibers_ = true;
        return;
      }
      if (tuning_.lifo_slot != 0) {
        class fiber* displaced = std::exchange(lifo_slot_, &fiber);
        if (displaced == nullptr) return;
        push(*displaced);
      } else {
        push(fiber);
      }
      work_waits(true);
    }

    int perform(operation& operation, deadline deadline) noexcept override {
      return poller_.perform(operation, deadline);
    }

    /// For the watch alone.
    bool polled_since_last_look() noexcept {
      const std::uint64_t polls = counters().polls.load();
      return std::exchange(polls_at_last_look_, polls) != polls;
    }

    void loop() noexcept {
      overflow_reporter reporter;
      enter_thread();
      local_.emplace(shared_.scheduler_, index());
      poller_.enter_thread();
      while (fiber* next = next_fiber()) run_fiber(*next);
      poller_.leave_thread();
      local_.reset();
      end_stop();
      leave_thread();
    }

   protected:
    void requeue_yielded(fiber& fiber) noexcept override {
      // One more in the queue, and this worker takes one: nobody has more to do than before.
      counters().pushes.add();
      if (!shared_.scheduler_.push_last(&fiber, *local_)) counters().overflows.add();
    }

   private:
    void push(fiber& fiber) noexcept {
      counters().pushes.add();
      if (!shared_.scheduler_.push(&fiber, *local_)) counters().overflows.add();
    }

    /// What to run next; nullptr at the end.
    fiber* next_fiber() noexcept {
      for (;;) {
        if (poll_is_due()) {
          poll();
          if (shared_.finished()) return nullptr;
        }
        if (fiber* next = own_work()) return next;
        pushed_between_fibers_ = false;  // others have taken it
        if (searching_ || shared_.scheduler_.others_maybe_nonempty(*local_)) {
          if (!searching_) searching_ = shared_.idle_.start_search();
          if (searching_) {
            const pop_result<fiber*> found = shared_.scheduler_.search(*local_, counters());
            if (found) return take(found.item);
            if (found.status == pop_status::contended) continue;
          }
        }
        if (tuning_.poll_before_park != 0) {
          poll();
          if (pushed_between_fibers_) continue;
        }
        if (!spin_for_work()) park();
        if (shared_.finished()) return nullptr;
      }
    }

    /// From the LIFO slot, the own queue, or the overflow queue.
    fiber* own_work() noexcept {
      ++since_overflow_;
      if (lifo_slot_ != nullptr && lifo_in_row_ < tuning_.lifo_slot_most_in_row) {
        ++lifo_in_row_;
        return take(std::exchange(lifo_slot_, nullptr));
      }
      lifo_in_row_ = 0;
      if (since_overflow_ >= overflow_interval_) {
        since_overflow_ = 0;
        if constexpr (scheduler_type::newest_first) {
          oldest_is_next_ = !oldest_is_next_;
          const pop_result<fiber*> oldest =
              oldest_is_next_ ? shared_.scheduler_.pop_oldest(*local_) : pop_result<fiber*>{};
          if (oldest) return take(oldest.item);
        }
        if (fiber* next = overflow_work()) return next;
      }
      // On `contended` the other sources are looked at first; parking looks here again.
      const pop_result<fiber*> own = shared_.scheduler_.pop(*local_);
      if (own) return take(own.item);
      if (lifo_slot_ != nullptr) return take(std::exchange(lifo_slot_, nullptr));
      return overflow_work();
    }

    fiber* overflow_work() noexcept {
      const pop_result<fiber*> spilled = shared_.scheduler_.pop_overflow(*local_);
      if (!spilled) return nullptr;
      counters().overflow_pops.add();
      return take(spilled.item);
    }

    /// Work was found: settles what the idle protocol must know before it runs.
    fiber* take(fiber* found) noexcept {
      bool pushed = std::exchange(pushed_between_fibers_, false);
      if (searching_) {
        searching_ = false;
        if (shared_.idle_.stop_search() && shared_.scheduler_.maybe_nonempty())
          shared_.notify(this);
        pushed = false;
      }
      if (shared_.scheduler_.publish_on_request(*local_)) shared_.notify(this);
      if (pushed || waited_beside_ > 0) {
        if (shared_.scheduler_.own_maybe_nonempty(*local_)) {
          work_waits(pushed);
        } else {
          waited_beside_ = 0;
        }
      }
      return found;
    }

    /// Work waits while this worker runs something else: another should be woken, at once or when
    /// that has gone on for a while. `pushed`: some of it has come just now, so nobody was told of
    /// it yet.
    void work_waits(bool pushed) noexcept {
      if (!defers_wakes_ || ++waited_beside_ >= tuning_.wake_after_fibers) {
        waited_beside_ = 0;
        shared_.scheduler_.publish(*local_);
        shared_.notify(this);
      } else if (pushed && shared_.idle_.wake_is_wanted()) {
        shared_.scheduler_.publish(*local_);
        shared_.deferred_.defer();
      }
    }

    bool poll_is_due() noexcept {
      if (++since_poll_ >= tuning_.poll_interval_fibers || poller_.wants_poll()) return true;
      // The time-stamp counter costs as much as a switch: it is read every few, the clock never.
      constexpr std::uint32_t between_looks = 8;
      if (since_poll_ % between_looks != 0) return false;
      const std::uint64_t now = cycle_count();
      if (since_poll_ == between_looks) last_look_ = now;
      return now - last_look_ >= poll_interval_cycles_;
    }

    /// Harvests completions and expired timers without waiting.
    void poll() noexcept {
      counters().polls.add();
      poller_.wait_for_events(0);
      settle();
    }

    void end_sleep() noexcept {
      shared_.idle_.end_sleep(index());
      if (poller_.end_sleep()) {
        // A wake-up counts as a searcher: this worker is it now.
        searching_ = true;
        poller_.help_stuck();
      }
      if (defers_wakes_) shared_.deferred_.defer();
      settle();
    }

    void settle() noexcept {
      fire_timers();
      since_poll_ = 0;
      if (shared_.stop_requested() && !stopping()) {
        begin_stop();
        poller_.cancel_reads();
      }
      if (stopping() && now_ns() >= shared_.drain_end_ns()) shared_.abandon();
    }

    /// Looks at every source for a while. True when one may have work.
    bool spin_for_work() noexcept {
      for (std::uint32_t i = 0; i < tuning_.spin_before_park; ++i) {
        if (shared_.scheduler_.maybe_nonempty(*local_)) return true;
        native::pause();
      }
      return false;
    }

    /// Sleeps in the poller until something happens. No wake-up is lost: see idle_protocol.
    void park() noexcept {
      poller_.prepare_sleep();
      shared_.idle_.announce_sleep(index(), std::exchange(searching_, false));
      if (shared_.idle_.all_sleep() && shared_.live_fibers() == 0) shared_.finish();
      if (shared_.scheduler_.maybe_nonempty(*local_) || shared_.finished()) return end_sleep();
      counters().parks.add();
      const std::uint64_t until = std::min(next_timer_ns(), shared_.drain_end_ns());
      std::uint64_t timeout_ns = never_ns;
      if (until != never_ns) {
        const std::uint64_t now = now_ns();
        timeout_ns = until > now ? until - now : 0;
      }
      counters().polls.add();
      poller_.wait_for_events(timeout_ns);
      end_sleep();
    }

    self_type& shared_;
    const tuning tuning_;
    Poller poller_;
    const bool defers_wakes_;
    const std::uint64_t poll_interval_cycles_;
    /// Where the newest fiber runs first, every other look is at the oldest one instead.
    const std::uint32_t overflow_interval_;
    std::optional<typename scheduler_type::local> local_;
    fiber* lifo_slot_ = nullptr;
    std::uint32_t lifo_in_row_ = 0;
    std::uint32_t since_overflow_ = 0;
    bool oldest_is_next_ = false;
    std::uint32_t since_poll_ = 0;
    std::uint64_t last_look_ = 0;
    /// Fibers run or queued since work began to wait.
    std::uint32_t waited_beside_ = 0;
    bool searching_ = false;
    bool pushed_between_fibers_ = false;
    std::uint64_t polls_at_last_look_ = 0;  // the watch's
  };

  const std::string_view name_;
  scheduler_type scheduler_;
  idle_protocol<native> idle_;
  poller_group pollers_;
  deferred_wakes deferred_;
  std::vector<std::unique_ptr<loop_worker>> workers_;
};

}  // namespace heddle
