// Resident memory of parked fibers: parks COUNT fibers and prints bytes per fiber as JSON.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "../process.hpp"
#include <heddle/heddle.hpp>
#include <heddle/sync/semaphore.hpp>

int main(int argc, char** argv) {
  long count = 1'000'000;
  if (argc > 2 ||
      (argc == 2 &&
       (std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), count).ec != std::errc() ||
        count < 1))) {
    std::fprintf(stderr, "usage: %s [COUNT], a number of fibers from 1\n", argv[0]);
    return 2;
  }
  const auto status_bytes = [](std::string_view row) {
    return 1024.0 * static_cast<double>(heddle::bench::status_kib(row));
  };
  const auto runtime = heddle::make_runtime(heddle::combinations()[0].name);
  runtime->run([&] {
    heddle::semaphore gate(0);
    std::vector<heddle::join_handle<void>> fibers(static_cast<std::size_t>(count));
    const double resident_before = status_bytes("VmRSS");
    const double tables_before = status_bytes("VmPTE");
    const auto start = std::chrono::steady_clock::now();
    for (auto& fiber : fibers) fiber = heddle::spawn([&] { gate.acquire(); });
    heddle::this_fiber::yield();
    const double resident = status_bytes("VmRSS") - resident_before;
    const double tables = status_bytes("VmPTE") - tables_before;
    gate.release(count);
    for (auto& fiber : fibers) fiber.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf(
        "{\"fibers\": %ld, \"resident_bytes_per_fiber\": %.0f, \"page_table_bytes_per_fiber\": "
        "%.0f, "
        "\"seconds\": %.2f}\n",
        count, resident / static_cast<double>(count), tables / static_cast<double>(count),
        took.count());
  });
}
