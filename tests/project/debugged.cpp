// What tests/project/debugging_test.py runs under gdb and valgrind: fibers that move, throw and
// use their stacks, then one that stops in a function with a known chain of callers.

#include <cstdio>
#include <stdexcept>
#include <vector>

#include <heddle/heddle.hpp>

// Debuggers find these by name; the statements after the calls keep them from becoming jumps.
[[gnu::noinline]] void innermost() { asm volatile(""); }
[[gnu::noinline]] void middle() {
  innermost();
  asm volatile("");
}
[[gnu::noinline]] void outermost() {
  middle();
  asm volatile("");
}

int use_stack(int depth) {
  if (depth == 0) {
    heddle::this_fiber::yield();
    return 1;
  }
  char bytes[256];
  std::snprintf(bytes, sizeof bytes, "%d", depth);
  return use_stack(depth - 1) + (bytes[0] != '\0');
}

int main() {
  auto runtime = heddle::make_runtime("epoll-work-stealing-locking", {.workers = 2});
  runtime->run([] {
    std::vector<heddle::join_handle<int>> fibers;
    for (int i = 0; i < 50; ++i) fibers.push_back(heddle::spawn(use_stack, 20));
    for (auto& one : fibers)
      if (one.join() != 21) std::puts("wrong sum");
    auto thrower = heddle::spawn([] { throw std::runtime_error("expected"); });
    try {
      thrower.join();
      std::puts("nothing was thrown");
    } catch (const std::runtime_error&) {
    }
    heddle::spawn(outermost).join();
  });
  std::puts("done");
}
