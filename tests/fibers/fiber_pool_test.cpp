#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <heddle/heddle.hpp>

namespace heddle {
namespace {

#if defined(HEDDLE_TSAN) || defined(HEDDLE_ASAN)
constexpr std::size_t slowdown = 20;
#else
constexpr std::size_t slowdown = 1;
#endif

std::unique_ptr<runtime_base> runtime_with(std::size_t stack_bytes, unsigned workers = 1) {
  return make_runtime(combinations()[0].name, {.workers = workers, .stack_bytes = stack_bytes});
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// What the constructor says about a size that it refuses.
template <class Make>
std::string refusal_of(Make make) {
  try {
    make();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(fiber_pool, sizes_that_are_not_allowed_are_refused_with_what_is) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{4096}, std::size_t{16383}, std::size_t{16385},
        std::size_t{65537}, (std::size_t{1} << 30) + 4096, ~std::size_t{0}}) {
    const std::string by_pool = refusal_of([&] { fiber_pool pool(bytes); });
    const std::string by_runtime = refusal_of([&] { runtime_with(bytes); });
    for (const std::string& message : {by_pool, by_runtime}) {
      EXPECT_NE(message.find(std::to_string(bytes)), std::string::npos) << message;
      EXPECT_NE(message.find("from 16384 to 1073741824 bytes"), std::string::npos) << message;
      EXPECT_NE(message.find("multiple of 4096"), std::string::npos) << message;
    }
  }
}

TEST(fiber_pool, the_smallest_and_the_largest_stack_run_a_fiber) {
  for (const std::size_t bytes :
       {fiber_pool::smallest_stack_bytes, std::size_t{20480}, fiber_pool::largest_stack_bytes}) {
    EXPECT_EQ(runtime_with(bytes)->run([] { return 7; }), 7) << bytes;
  }
}

TEST(fiber_pool, stacks_are_apart_and_usable_from_end_to_end) {
  constexpr std::size_t stack_bytes = 32 * 1024;
  fiber_pool pool(stack_bytes);
  fiber_list taken;
  std::vector<fiber*> all;
  for (int i = 0; i < 1000; ++i) {  // over more than one slab
    fiber_list one;
    pool.take(one, 1);
    ASSERT_EQ(one.size(), 1u);
    all.push_back(one.pop());
    all.back()->id = static_cast<std::uint64_t>(i);
  }
  for (fiber* one : all) {
    EXPECT_GE(usable_bytes(*one), stack_bytes / 2);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one) % alignof(fiber), 0u);
    std::memset(one->stack_bottom, 0x5a, usable_bytes(*one));
  }
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i]->id, i);
  std::sort(all.begin(), all.end());
  for (std::size_t i = 1; i < all.size(); ++i)
    EXPECT_GE(static_cast<char*>(all[i]->stack_bottom), reinterpret_cast<char*>(all[i - 1] + 1));
  for (fiber* one : all) taken.push(*one);
  pool.give(taken, all.size());
}

TEST(fiber_pool, what_was_given_back_is_handed_out_again) {
  fiber_pool pool(fiber_pool::default_stack_bytes);
  fiber_list fibers;
  pool.take(fibers, 1);
  fiber* const first = fibers.pop();
  fibers.push(*first);
  pool.give(fibers, 1);
  EXPECT_EQ(fibers.size(), 0u);
  pool.take(fibers, 64);
  EXPECT_EQ(fibers.size(), 1u);  // never more than are free, beyond the one that is needed
  EXPECT_EQ(fibers.pop(), first);
}

TEST(fiber_pool, a_hundred_thousand_stacks_need_few_mappings_or_say_which_limit_they_meet) {
  fiber_pool pool(fiber_pool::default_stack_bytes);
  fiber_list fibers;
  const std::size_t wanted = 100'000 / slowdown;
  try {
    while (fibers.size() < wanted) {
      fiber_list one;
      pool.take(one, 1);
      fibers.push(*one.pop());
    }
    std::ifstream maps("/proc/self/maps");
    const auto mappings = std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
    std::ifstream limit("/proc/sys/vm/max_map_count");
    std::ptrdiff_t most = 0;
    limit >> most;
    EXPECT_LT(mappings, most);
  } catch (const std::system_error& error) {
    EXPECT_NE(std::string(error.what()).find("vm.max_map_count"), std::string::npos)
        << error.what();
  }
  pool.give(fibers, fibers.size());
}

TEST(fiber_pool, an_address_in_a_guard_page_names_its_fiber) {
  const fiber* one = nullptr;
  const char* bottom = nullptr;
  {
    fiber_pool pool(fiber_pool::default_stack_bytes);
    fiber_list fibers;
    pool.take(fibers, 1);
    one = fibers.pop();
    bottom = static_cast<const char*>(one->stack_bottom);
    EXPECT_EQ(fiber_pool::guarded_by(bottom - 1), one);
    EXPECT_EQ(fiber_pool::guarded_by(bottom - 4096), one);
    EXPECT_EQ(fiber_pool::guarded_by(bottom), nullptr);
    EXPECT_EQ(fiber_pool::guarded_by(one), nullptr);
    EXPECT_EQ(fiber_pool::guarded_by(nullptr), nullptr);
    EXPECT_EQ(fiber_pool::guarded_by(&pool), nullptr);
  }
  EXPECT_EQ(fiber_pool::guarded_by(bottom - 1), nullptr);
}

class fiber_pool_death : public testing::Test {
 protected:
  // The process has threads; a fork without exec would not be safe.
  fiber_pool_death() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

__attribute__((noinline)) int recurse(int depth) {
  if (depth < 0) return 0;  // never
  volatile char frame[512];
  frame[0] = static_cast<char>(depth);
  return recurse(depth + 1) + frame[0];
}

void write_to_no_memory() {
  int* volatile nowhere = reinterpret_cast<int*>(16);
  *nowhere = 1;
}

/// Matches a text that does not contain `part`.
class without : public testing::MatcherInterface<const std::string&> {
 public:
  explicit without(std::string part) : part_(std::move(part)) {}
  bool MatchAndExplain(const std::string& text, testing::MatchResultListener*) const override {
    return text.find(part_) == std::string::npos;
  }
  void DescribeTo(std::ostream* out) const override { *out << "does not say '" << part_ << "'"; }

 private:
  const std::string part_;
};

__attribute__((noinline)) int use_frame_of(std::size_t bytes) {
  volatile char* frame = static_cast<volatile char*>(__builtin_alloca(bytes));
  for (std::size_t at = 0; at < bytes; at += 64) frame[at] = 1;
  return frame[0];
}

struct large_frame {
  __attribute__((noinline)) int operator()() const {
    volatile char frame[256 * 1024];
    asm volatile("" : : "r"(frame) : "memory");  // else a compiler may keep one byte of it
    frame[0] = 1;  // far below the guard page; the compiler's probe must hit it first
    return frame[0];
  }
};

// Field report 28: marl#43.
TEST_F(fiber_pool_death, a_runaway_recursion_is_called_a_stack_overflow_of_its_fiber) {
  EXPECT_DEATH(runtime_with(64 * 1024)->run([] { return recurse(0); }),
               "heddle: stack overflow in fiber [0-9]+; .*stack_bytes");
}

TEST_F(fiber_pool_death, the_report_names_the_fiber) {
  EXPECT_DEATH(runtime_with(64 * 1024, 2)->run([] {
    spawn([] {
      this_fiber::set_name("digger");
      return recurse(0);
    }).join();
  }),
               "stack overflow in fiber [0-9]+ \\(digger\\)");
}

TEST_F(fiber_pool_death, one_oversized_frame_is_a_stack_overflow_and_reaches_no_neighbour) {
  EXPECT_DEATH(runtime_with(64 * 1024)->run(large_frame{}), "stack overflow in fiber [0-9]+");
  EXPECT_DEATH(runtime_with(64 * 1024)->run([] { return use_frame_of(1 << 20); }),
               "stack overflow in fiber [0-9]+");
}

TEST_F(fiber_pool_death, another_fault_in_a_fiber_is_not_called_an_overflow) {
  EXPECT_DEATH(runtime_with(64 * 1024)->run(write_to_no_memory),
               testing::Matcher<const std::string&>(new without("stack overflow in fiber")));
}

TEST_F(fiber_pool_death, an_earlier_handler_of_the_program_gets_the_other_faults) {
  EXPECT_EXIT(
      {
        std::signal(SIGSEGV, [](int) { ::_exit(42); });
        runtime_with(64 * 1024)->run(write_to_no_memory);
      },
      testing::ExitedWithCode(42), "");
}

// Field report 30: rethinkdb#1670.
TEST(fiber_pool, two_hundred_thousand_fibers_that_end_leave_memory_as_it_was_ten_times_over) {
#if defined(HEDDLE_TSAN)
  GTEST_SKIP() << "ThreadSanitizer keeps memory of its own for fibers that have ended";
#endif
  const std::size_t count = 200'000 / slowdown;
  auto runtime = runtime_with(fiber_pool::default_stack_bytes, 2);
  // As many stacks as can be in use at once below, and then some.
  constexpr std::size_t most_alive = 5000;
  std::atomic<std::size_t> alive{0};
  runtime->run([&] {
    for (std::size_t i = 0; i < most_alive; ++i) {
      spawn([&] {
        ++alive;
        while (alive.load() < most_alive) this_fiber::yield();
      });
    }
  });
  std::vector<std::size_t> resident;
  for (int round = 0; round < 10; ++round) {
    std::atomic<std::size_t> ended{0};
    runtime->run([&] {
      for (std::size_t made = 0; made < count;) {
        for (std::size_t i = 0; i < 2000 && made < count; ++i, ++made)
          spawn([&] { ended.fetch_add(1, std::memory_order_relaxed); });
        while (ended.load() + 2000 < made) this_fiber::yield();
      }
    });
    ASSERT_EQ(ended, count);
    resident.push_back(resident_bytes());
  }
  // Nothing may be added but noise.
  EXPECT_LT(resident.back(), resident[4] + (2 << 20))
      << "bytes after round 5 and after round 10: " << resident[4] << ", " << resident.back();
  EXPECT_EQ(runtime->live_fibers(), 0u);
}

TEST(fiber_pool, a_stack_that_cannot_be_had_fails_the_spawn_with_the_limits_name) {
#if defined(HEDDLE_TSAN) || defined(HEDDLE_ASAN)
  GTEST_SKIP() << "a sanitizer needs the address space";
#endif
  rlimit before;
  ::getrlimit(RLIMIT_AS, &before);
  fiber_pool pool(fiber_pool::largest_stack_bytes);
  rlimit lower = before;
  lower.rlim_cur = std::size_t{1} << 29;
  ::setrlimit(RLIMIT_AS, &lower);
  std::string message = "a stack was found";
  try {
    fiber_list fibers;
    pool.take(fibers, 1);
  } catch (const std::system_error& error) {
    message = error.what();
    EXPECT_EQ(error.code(), std::errc::not_enough_memory);
  }
  ::setrlimit(RLIMIT_AS, &before);
  EXPECT_NE(message.find("ulimit -v"), std::string::npos) << message;
}

}  // namespace
}  // namespace heddle
