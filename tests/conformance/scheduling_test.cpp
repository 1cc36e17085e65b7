#include <array>
#include <exception>
#include <stdexcept>
#include <vector>

#include "conformance.hpp"

namespace heddle::conformance {
namespace {

/// Two fibers that wake each other through this take turns.
class turns {
 public:
  void wait_for(unsigned me) {
    for (;;) {
      waiter self;
      self.park([&](waiter& waiting) noexcept {
        const std::uintptr_t mine = reinterpret_cast<std::uintptr_t>(&waiting);
        std::uintptr_t seen = sides_[me].load();
        return seen == 0 && sides_[me].compare_exchange_strong(seen, mine);
      });
      if (sides_[me].exchange(0) == token) return;
    }
  }
  void pass_to(unsigned other) {
    const std::uintptr_t before = sides_[other].exchange(token);
    if (before > token) reinterpret_cast<waiter*>(before)->wake();
  }

 private:
  static constexpr std::uintptr_t token = 1;
  std::array<std::atomic<std::uintptr_t>, 2> sides_{};
};

/// Field report 34: tokio#2349. `lifo_slot`: the tuning of that name.
void expect_progress_beside_two_that_wake_each_other(std::uint32_t lifo_slot) {
  runtime_options options;
  options.tuning.lifo_slot = lifo_slot;
  auto runtime = make_runtime(1, std::move(options));
  const std::size_t rounds = scaled(20'000);
  std::atomic<bool> over{false};
  std::size_t counted = 0;
  runtime->run([&] {
    turns turn;
    std::vector<join_handle<void>> players;
    for (unsigned me : {0u, 1u}) {
      players.push_back(spawn([&, me] {
        for (std::size_t i = 0; i < rounds; ++i) {
          turn.wait_for(me);
          turn.pass_to(1 - me);
        }
      }));
    }
    auto third = spawn([&] {
      while (!over) {
        ++counted;
        this_fiber::yield();
      }
    });
    turn.pass_to(0);
    for (auto& player : players) player.join();
    over = true;
    third.join();
  });
  EXPECT_GT(counted, rounds / 8);
}

TEST(scheduling, two_fibers_that_wake_each_other_leave_room_for_a_third) {
  expect_progress_beside_two_that_wake_each_other(0);
}

TEST(scheduling, so_they_do_with_a_lifo_slot) {
  expect_progress_beside_two_that_wake_each_other(1);
}

TEST(scheduling, fibers_that_yield_take_turns) {
  auto runtime = make_runtime(1);
  constexpr std::size_t fibers = 10;
  const std::size_t rounds = scaled(2000);
  std::array<std::size_t, fibers> counts{};
  std::size_t widest = 0;
  runtime->run([&] {
    std::vector<join_handle<void>> all;
    for (std::size_t i = 0; i < fibers; ++i) {
      all.push_back(spawn([&, i] {
        for (std::size_t k = 0; k < rounds; ++k) {
          ++counts[i];
          const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
          if (*most < rounds) widest = std::max(widest, *most - *least);
          this_fiber::yield();
        }
      }));
    }
  });
  // A worker looks at the overflow queue now and then, out of turn; a FIFO keeps all in step.
  EXPECT_LE(widest, 3u);
}

TEST(scheduling, yields_over_a_queue_that_overflows_starve_nobody) {
  runtime_options options;
  options.queue_capacity_slots = 4;
  auto runtime = make_runtime(1, std::move(options));
  constexpr std::size_t fibers = 50;
  std::array<std::atomic<std::size_t>, fibers> counts{};
  const std::size_t least = scaled(200);
  runtime->run([&] {
    std::atomic<bool> over{false};
    std::vector<join_handle<void>> all;
    for (std::size_t i = 0; i < fibers; ++i) {
      all.push_back(spawn([&, i] {
        while (!over) {
          ++counts[i];
          this_fiber::yield();
        }
      }));
    }
    EXPECT_TRUE(eventually([&] {
      return std::all_of(counts.begin(), counts.end(), [&](auto& count) { return count > least; });
    })) << "some fiber never runs";
    over = true;
    for (auto& one : all) one.join();
  });
}

// Field report 24: userver#242.
TEST(scheduling, worker_and_fiber_are_right_after_every_yield) {
  auto runtime = make_runtime(4);
  constexpr std::size_t fibers = 16;
  const std::size_t yields = scaled(1'000'000, 10'000'000) / fibers;
  std::array<std::atomic<int>, 4> thread_of_worker{};
  std::atomic<std::size_t> wrong{0};
  std::atomic<std::size_t> moves{0};
  runtime->run([&] {
    for (std::size_t i = 0; i < fibers; ++i) {
      spawn([&, i] {
        const std::uint64_t mine = this_fiber::id();
        int before = thread_number();
        if (i == 0) move_to_another_worker();  // a machine that is busy may leave all with one
        // Of unequal lengths, so that workers run dry and take from each other.
        for (std::size_t k = 0; k < yields * (i + 1) / fibers; ++k) {
          this_fiber::yield();
          const int thread = thread_number();
          int expected = 0;
          if (!thread_of_worker[current_worker()->index()].compare_exchange_strong(expected,
                                                                                   thread))
            wrong += expected != thread;
          wrong += this_fiber::id() != mine;
          moves += std::exchange(before, thread) != thread;
        }
      });
    }
  });
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(moves, 0u);
}

TEST(scheduling, errno_is_that_of_the_thread_after_a_move) {
  auto runtime = make_runtime(2);
  runtime->run([] {
    for (std::size_t i = 0; i < scaled(60); ++i) {
      EXPECT_EQ(::close(-1), -1);
      EXPECT_EQ(current_errno(), EBADF);
      move_to_another_worker();
      EXPECT_EQ(::rmdir("/nonexistent/heddle"), -1);
      EXPECT_EQ(current_errno(), ENOENT);
    }
  });
}

// Field report 27: boost context#302, silk#98.
TEST(scheduling, an_exception_that_is_being_handled_moves_with_its_fiber) {
  auto runtime = make_runtime(3);  // one for each of the two fibers and one that is free
  std::atomic<bool> over{false};
  runtime->run([&] {
    auto other = spawn([&] {
      while (!over) {
        try {
          throw std::logic_error("of the other");
        } catch (const std::logic_error& error) {
          this_fiber::yield();
          EXPECT_STREQ(error.what(), "of the other");
        }
        EXPECT_EQ(std::current_exception(), nullptr);
      }
    });
    for (std::size_t i = 0; i < scaled(100); ++i) {
      const int thread = thread_number();
      try {
        try {
          throw std::runtime_error("of the first");
        } catch (const std::runtime_error&) {
          move_to_another_worker();
          EXPECT_NE(thread_number(), thread);
          EXPECT_EQ(std::uncaught_exceptions(), 0);
          throw;
        }
      } catch (const std::exception& error) {
        EXPECT_STREQ(error.what(), "of the first");
        EXPECT_NE(dynamic_cast<const std::runtime_error*>(&error), nullptr);
      }
      EXPECT_EQ(std::current_exception(), nullptr);
    }
    over = true;
  });
}

TEST(scheduling, the_count_of_uncaught_exceptions_moves_with_its_fiber) {
  auto runtime = make_runtime(3);  // one for each of the two fibers and one that is free
  struct moves_at_end {
    ~moves_at_end() {
      EXPECT_EQ(std::uncaught_exceptions(), 1);
      move_to_another_worker();
      EXPECT_EQ(std::uncaught_exceptions(), 1);
    }
  };
  std::atomic<bool> over{false};
  runtime->run([&] {
    auto other = spawn([&] {
      while (!over) {
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        this_fiber::yield();
      }
    });
    for (std::size_t i = 0; i < scaled(100); ++i) {
      try {
        const moves_at_end object;
        throw std::runtime_error("unwinds");
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "unwinds");
        EXPECT_EQ(std::uncaught_exceptions(), 0);
      }
    }
    over = true;
  });
}

// Work conservation: what is ready runs while a worker is free, whatever another one does.
TEST(scheduling, fibers_behind_one_that_never_yields_run_on_the_other_workers) {
  for (const unsigned workers : {2u, 4u}) {
    auto runtime = make_runtime(workers);
    constexpr std::size_t count = 1000;
    for (std::size_t round = 0; round < scaled(20); ++round) {
      std::atomic<std::size_t> runs{0};
      runtime->run([&] {
        for (std::size_t i = 0; i < count; ++i) spawn([&] { ++runs; });
        EXPECT_TRUE(spin_until([&] { return runs == count; }))
            << runs << " of " << count << " ran; workers: " << workers;
      });
    }
  }
}

TEST(scheduling, what_a_busy_fiber_wakes_and_what_outsiders_spawn_runs_on_the_other_workers) {
  auto runtime = make_runtime(2);
  for (std::size_t round = 0; round < scaled(50); ++round) {
    runtime->run([&] {
      event woken;
      std::atomic<int> runs{0};
      auto sleeper = spawn([&] {
        woken.wait();
        ++runs;
      });
      this_fiber::yield();
      woken.set();
      EXPECT_TRUE(spin_until([&] { return runs == 1; })) << "the woken fiber waits";
      plain_thread outside([&] { runtime->spawn([&] { ++runs; }); });
      EXPECT_TRUE(spin_until([&] { return runs == 2; })) << "the spawned fiber waits";
      sleeper.join();
    });
  }
}

TEST(scheduling, more_workers_than_processors_lose_nothing) {
  auto runtime = make_runtime(16);
  std::atomic<std::size_t> runs{0};
  const std::size_t each = scaled(500);
  runtime->run([&] {
    for (std::size_t i = 0; i < 64; ++i) {
      spawn([&] {
        for (std::size_t k = 0; k < each; ++k) {
          auto child = spawn([&] { ++runs; });
          this_fiber::yield();
          child.join();
        }
      });
    }
  });
  EXPECT_EQ(runs, 64 * each);
  expect_quiet(*runtime);
}

}  // namespace
}  // namespace heddle::conformance
