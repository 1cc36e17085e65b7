#include "http_date.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <string_view>

#include <time.h>

namespace heddle::servers {
namespace {

/// Writes `value` with leading zeros.
void put_digits(char* end, std::size_t digits, unsigned value) {
  for (; digits > 0; --digits, value /= 10) *--end = static_cast<char>('0' + value % 10);
}

}  // namespace

http_date_text format_http_date(std::int64_t seconds) noexcept {
  using namespace std::chrono;
  constexpr std::string_view days = "SunMonTueWedThuFriSat";
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const sys_seconds time{std::chrono::seconds(seconds)};
  const sys_days day = floor<std::chrono::days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);

  http_date_text text;
  std::ranges::copy(std::string_view("Sun, 06 Nov 1994 08:49:37 GMT"), text.begin());
  std::ranges::copy(days.substr(weekday(day).c_encoding() * 3, 3), &text[0]);
  put_digits(&text[7], 2, static_cast<unsigned>(date.day()));
  std::ranges::copy(months.substr((static_cast<unsigned>(date.month()) - 1) * 3, 3), &text[8]);
  put_digits(&text[16], 4, static_cast<unsigned>(static_cast<int>(date.year())));
  put_digits(&text[19], 2, static_cast<unsigned>(clock.hours().count()));
  put_digits(&text[22], 2, static_cast<unsigned>(clock.minutes().count()));
  put_digits(&text[25], 2, static_cast<unsigned>(clock.seconds().count()));
  return text;
}

std::int64_t wall_clock_seconds() noexcept {
  timespec time;
  clock_gettime(CLOCK_REALTIME_COARSE, &time);
  return time.tv_sec;
}

http_date_text http_date::now() noexcept {
  const std::int64_t second = seconds_now_();
  http_date_text text;
  if (load(second, text)) return text;
  text = format_http_date(second);
  store({second, text});
  return text;
}

bool http_date::load(std::int64_t second, http_date_text& text) const noexcept {
  // [entry] acquire → release in store: the words of a version are written before it is.
  const std::uint64_t version = version_.load(std::memory_order_acquire);
  if (version == 0 || version % 2 != 0) return false;
  // [overwritten] acquire → release in store: who reads a word of a later version sees below that
  // the version has changed.
  std::array<std::uint64_t, words> copy;
  for (std::size_t i = 0; i < words; ++i) copy[i] = entry_[i].load(std::memory_order_acquire);
  // Relaxed: the acquiring loads above keep it behind them.
  if (version_.load(std::memory_order_relaxed) != version) return false;
  const entry found = std::bit_cast<entry>(copy);
  if (found.second != second) return false;
  text = found.text;
  return true;
}

void http_date::store(const entry& next) noexcept {
  // Relaxed: the exchange below is what counts.
  std::uint64_t version = version_.load(std::memory_order_relaxed);
  // [turns] acquire → [entry]: one writer's words come after those of the one before.
  if (version % 2 != 0 ||
      !version_.compare_exchange_strong(version, version + 1, std::memory_order_acquire,
                                        std::memory_order_relaxed))
    return;
  const auto copy = std::bit_cast<std::array<std::uint64_t, words>>(next);
  for (std::size_t i = 0; i < words; ++i)
    entry_[i].store(copy[i], std::memory_order_release);   // [overwritten]
  version_.store(version + 2, std::memory_order_release);  // [entry]
}

}  // namespace heddle::servers
