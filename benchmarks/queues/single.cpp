// One figure a queue: a push and a pop by one thread, which is what a queue costs when nobody else
// is there. Everything else is measured by the programs queue-bench-NAME.
#include <string>

#include <benchmark/benchmark.h>

#include "every_queue.hpp"

namespace heddle::bench {
namespace {

struct item : queue_hook {};

template <class Tag>
void push_and_pop(benchmark::State& state) {
  using queue = typename Tag::template type<item*, native>;
  queue measured(queue_options{.handles = 1});
  typename queue::handle handle(measured);
  item passed;
  for (auto _ : state) {
    measured.try_push(&passed, handle);
    auto answer = measured.try_pop(handle);
    benchmark::DoNotOptimize(answer);
    if (!answer) [[unlikely]] {
      state.SkipWithError("a thread alone did not get its item back");
      break;
    }
  }
}

struct registry {
  template <class Tag>
  void add(const char* name) {
    benchmark::RegisterBenchmark((std::string("push_and_pop/") + name).c_str(), push_and_pop<Tag>);
  }
};

}  // namespace
}  // namespace heddle::bench

int main(int argc, char** argv) {
  heddle::bench::registry every;
  heddle::bench::for_every_queue(every);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
