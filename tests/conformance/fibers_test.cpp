#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "conformance.hpp"

namespace heddle::conformance {
namespace {

TEST(fibers, join_returns_the_value) {
  auto runtime = make_runtime(2);
  const int sum = runtime->run([] {
    auto one = spawn([] { return 1; });
    auto text = spawn([] { return std::string(1000, 'x'); });
    auto nothing = spawn([] {});
    nothing.join();
    return one.join() + static_cast<int>(text.join().size());
  });
  EXPECT_EQ(sum, 1001);
  expect_quiet(*runtime);
}

TEST(fibers, arguments_are_copied_and_references_are_passed_by_ref) {
  auto runtime = make_runtime(2);
  int counter = 0;
  runtime->run([&] {
    int local = 1;
    auto child = spawn([](int by_value, int& by_reference) { by_reference += by_value; }, local,
                       std::ref(counter));
    local = 100;
    child.join();
  });
  EXPECT_EQ(counter, 1);
}

TEST(fibers, callables_arguments_and_results_may_be_move_only) {
  auto runtime = make_runtime(2);
  const std::unique_ptr<int> result = runtime->run([] {
    auto held = std::make_unique<int>(40);
    auto child =
        spawn([held = std::move(held)](
                  std::unique_ptr<int> more) { return std::make_unique<int>(*held + *more); },
              std::make_unique<int>(2));
    return child.join();
  });
  EXPECT_EQ(*result, 42);
}

TEST(fibers, what_a_fiber_captured_ends_with_the_fiber_and_not_with_its_handle) {
  auto runtime = make_runtime(2);
  auto captured = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = captured;
  runtime->run([&, captured = std::move(captured)]() mutable {
    auto child = spawn([captured = std::move(captured)] {});
    EXPECT_TRUE(eventually([&] { return child.finished(); }));
    EXPECT_TRUE(seen.expired());
    child.join();
  });
}

TEST(fibers, a_result_that_nobody_asks_for_is_destroyed) {
  auto runtime = make_runtime(2);
  auto result = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = result;
  runtime->run([&] {
    spawn([result = std::move(result)] { return result; });  // the handle dies at once
    auto kept = spawn([&] { return seen.lock(); });
    EXPECT_TRUE(eventually([&] { return kept.finished(); }));
  });
  EXPECT_TRUE(seen.expired());
  expect_quiet(*runtime);
}

TEST(fibers, join_throws_what_left_the_fiber) {
  auto runtime = make_runtime(2);
  runtime->run([] {
    auto child = spawn([]() -> int { throw std::runtime_error("broken thread"); });
    try {
      child.join();
      ADD_FAILURE() << "join returned";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "broken thread");
    }
    EXPECT_FALSE(child.joinable());
    EXPECT_THROW(child.join(), std::logic_error);
  });
  expect_quiet(*runtime);
}

TEST(fibers, an_exception_of_a_detached_fiber_reaches_the_handler) {
  std::atomic<int> reports{0};
  std::atomic<bool> called_in_fiber{false};
  runtime_options options;
  options.on_unhandled_exception = [&](std::exception_ptr error) {
    called_in_fiber = in_fiber();
    try {
      std::rethrow_exception(error);
    } catch (const std::runtime_error& report) {
      EXPECT_STREQ(report.what(), "nobody joins");
      ++reports;
    }
  };
  auto runtime = make_runtime(2, std::move(options));
  runtime->run([] {
    const auto fails = [] { throw std::runtime_error("nobody joins"); };
    spawn(fails);  // detached before it ends, most likely
    auto late = spawn(fails);
    EXPECT_TRUE(eventually([&] { return late.finished(); }));
    late.detach();  // detached after it ended
  });
  EXPECT_EQ(reports, 2);
}

TEST(fibers, a_handle_may_be_joined_by_a_plain_thread) {
  auto runtime = make_runtime(2);
  auto before = runtime->spawn([] { return 1; });
  plain_thread joiner([&] { EXPECT_EQ(before.join(), 1); });
  runtime->run([&] {
    auto child = spawn([] {
      this_fiber::yield();
      return std::string("joined");
    });
    event joined;
    plain_thread waits([&] {
      EXPECT_EQ(child.join(), "joined");
      joined.set();
    });
    joined.wait();
  });
  joiner.join();
  expect_quiet(*runtime);
}

TEST(fibers, ids_are_unique_and_a_handle_tells_its_fiber) {
  auto runtime = make_runtime(3);
  constexpr std::size_t count = 2000;
  std::vector<std::uint64_t> ids(count);
  runtime->run([&] {
    std::vector<join_handle<std::uint64_t>> children;
    for (std::size_t i = 0; i < count; ++i)
      children.push_back(spawn([] { return this_fiber::id(); }));
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t told = children[i].id();
      ids[i] = children[i].join();
      EXPECT_EQ(ids[i], told);
    }
  });
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
}

TEST(fibers, calls_that_need_a_fiber_throw_outside_one) {
  EXPECT_THROW(spawn([] {}), std::logic_error);
  EXPECT_THROW(this_fiber::yield(), std::logic_error);
  EXPECT_THROW(this_fiber::id(), std::logic_error);
  EXPECT_THROW(static_cast<void>(sleep_for(0s)), std::logic_error);
  auto runtime = make_runtime(1);
  runtime->run([&] { EXPECT_THROW(runtime->run([] {}), std::logic_error); });
}

int fib(int n) {
  if (n < 2) return n;
  auto left = spawn(fib, n - 1);
  auto right = spawn(fib, n - 2);
  return left.join() + right.join();
}

TEST(fibers, a_tree_of_joins_adds_up) {
  auto runtime = make_runtime(3);
  // A FIFO scheduler holds nearly the whole tree at once: 22,000 fibers; ThreadSanitizer knows at
  // most 8,000.
  const bool small = slowdown > 1;
  EXPECT_EQ(runtime->run([&] { return fib(small ? 14 : 20); }), small ? 377 : 6765);
  expect_quiet(*runtime);
}

int depth(int left) { return left == 0 ? 0 : 1 + spawn(depth, left - 1).join(); }

TEST(fibers, a_chain_of_a_thousand_joins_unwinds) {
  auto runtime = make_runtime(2);
  EXPECT_EQ(runtime->run([] { return depth(1000); }), 1000);
  expect_quiet(*runtime);
}

TEST(fibers, a_million_fibers_from_one_run_each_exactly_once) {
  auto runtime = make_runtime(2);
  const std::size_t total = scaled(1'000'000);
  std::atomic<std::size_t> runs{0};
  runtime->run([&] {
    for (std::size_t made = 0; made < total;) {
      const std::size_t batch_end = std::min<std::size_t>(total, made + 1000);
      for (; made < batch_end; ++made) spawn([&] { runs.fetch_add(1, std::memory_order_relaxed); });
      // Bounds what is alive at once; the others run meanwhile.
      EXPECT_TRUE(eventually([&] { return runs.load() + 1000 >= made; }));
    }
  });
  EXPECT_EQ(runs, total);
  expect_quiet(*runtime);
}

// Field report 33: brpc#1358.
TEST(fibers, many_parents_join_many_children_over_small_queues) {
  constexpr unsigned workers = 2;
  constexpr std::size_t parents = 10 * workers;
  const std::size_t children = scaled(4000, 10000);
  runtime_options options;
  options.queue_capacity_slots = 4;
  auto runtime = make_runtime(workers, std::move(options));
  std::atomic<std::size_t> runs{0};
  runtime->run([&] {
    std::vector<join_handle<std::size_t>> made;
    for (std::size_t i = 0; i < parents; ++i) {
      made.push_back(spawn([&] {
        std::size_t sum = 0;
        for (std::size_t left = children; left > 0;) {
          std::vector<join_handle<std::size_t>> batch;
          for (; left > 0 && batch.size() < 250; --left) {
            batch.push_back(spawn([&runs] {
              runs.fetch_add(1, std::memory_order_relaxed);
              return std::size_t{1};
            }));
          }
          for (auto& child : batch) sum += child.join();
        }
        return sum;
      }));
    }
    for (auto& parent : made) EXPECT_EQ(parent.join(), children);
  });
  EXPECT_EQ(runs, parents * children);
  expect_quiet(*runtime);
}

TEST(fibers, plain_threads_spawn_while_the_runtime_runs) {
  auto runtime = make_runtime(2);
  constexpr std::size_t threads = 4;
  const std::size_t each = scaled(20'000);
  std::atomic<std::size_t> runs{0};
  runtime->run([&] {
    std::vector<plain_thread> spawners;
    for (std::size_t i = 0; i < threads; ++i) {
      spawners.emplace_back([&] {
        for (std::size_t made = 0; made < each; ++made) {
          auto child = runtime->spawn([&] { runs.fetch_add(1, std::memory_order_relaxed); });
          if (made % 100 == 0) child.join();  // bounds what is alive at once
        }
      });
    }
    EXPECT_TRUE(eventually([&] { return runs == threads * each; }));
  });
  EXPECT_EQ(runs, threads * each);
  expect_quiet(*runtime);
}

TEST(fibers, a_callable_too_large_for_the_stack_is_refused) {
  auto runtime = make_runtime(1);
  std::array<char, fiber_pool::default_stack_bytes> large{};
  const auto root = [large] { return large[0]; };
  EXPECT_THROW(runtime->spawn(root), std::length_error);
  EXPECT_THROW(runtime->run(root), std::length_error);
  EXPECT_EQ(runtime->run([] { return 7; }), 7);
  expect_quiet(*runtime);
}

}  // namespace
}  // namespace heddle::conformance
