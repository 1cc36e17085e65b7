#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <heddle/base/cache_line.hpp>

namespace heddle::servers {

/// "Sun, 06 Nov 1994 08:49:37 GMT", not terminated.
using http_date_text = std::array<char, 29>;

/// HTTP's IMF-fixdate (RFC 9110, 5.6.7) of a number of seconds since 1970; years 0 to 9999.
http_date_text format_http_date(std::int64_t seconds) noexcept;

/// Seconds since 1970 by the system's clock, which a reader may see a few milliseconds late.
std::int64_t wall_clock_seconds() noexcept;

/// The date of now, formatted by the first who asks in a second and kept for the others.
///
/// Threads: any. Progress: wait-free; who asks while another formats does so for itself.
class http_date {
 public:
  using clock = std::int64_t (*)() noexcept;

  constexpr explicit http_date(clock seconds_now) noexcept : seconds_now_(seconds_now) {}

  http_date_text now() noexcept;

 private:
  /// A second and its text, as it is copied from and to shared memory.
  struct entry {
    std::int64_t second;
    http_date_text text;
  };
  static constexpr std::size_t words = sizeof(entry) / sizeof(std::uint64_t);

  bool load(std::int64_t second, http_date_text& text) const noexcept;
  void store(const entry& next) noexcept;

  const clock seconds_now_;
  // Written once a second, read for every answer.
  alignas(cache_line_bytes) std::atomic<std::uint64_t> version_{0};  // odd: being written
  std::array<std::atomic<std::uint64_t>, words> entry_{};
};

}  // namespace heddle::servers
