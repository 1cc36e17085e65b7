#pragma once

#include <heddle/base/clock.hpp>
#include <heddle/base/result.hpp>
#include <heddle/time/timer_wheel.hpp>

namespace heddle {

/// Suspends the running fiber until the deadline, rounded up to 8.2 us. When the runtime stops,
/// every sleep ends at once with operation_canceled, so that a sleeper of an hour does not hold it
/// up. Errors: std::logic_error outside a fiber.
result<void> sleep(deadline deadline);

template <class Rep, class Period>
result<void> sleep_for(std::chrono::duration<Rep, Period> duration) {
  return sleep(deadline(duration));
}

template <class Duration>
result<void> sleep_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time) {
  return sleep(deadline(time));
}

/// For the worker that ends sleeps early: whether a timer is a sleep, and its end once it is
/// disarmed.
bool is_sleep(const timer& armed) noexcept;
void cancel_sleep(timer& disarmed) noexcept;

}  // namespace heddle
