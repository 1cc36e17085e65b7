#include <cstdio>

#include <heddle/heddle.hpp>

int main() {
  const auto runtime = heddle::make_runtime(heddle::combinations()[0].name, {.workers = 2});
  const int answer = runtime->run([] { return heddle::spawn([] { return 42; }).join(); });
  std::printf("%d\n", answer);
}
