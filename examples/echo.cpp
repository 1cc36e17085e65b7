#include <array>

#include <heddle/heddle.hpp>

void serve(heddle::socket peer) {
  std::array<std::byte, 1024> buffer;
  while (auto n = peer.read(buffer, std::chrono::seconds(5)).value_or(0))
    if (!peer.write_all(std::span(buffer).first(n))) return;
}

int main() {
  auto runtime = heddle::make_runtime("auto-work-stealing-bounded-spmc", {.workers = 2});
  runtime->run([] {
    auto listener = heddle::listener::bind({"127.0.0.1", 3000}).value();
    while (auto peer = listener.accept()) heddle::spawn(serve, std::move(*peer));
  });
}
