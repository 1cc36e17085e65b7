#pragma once

#include <memory>
#include <span>
#include <string_view>

#include <heddle/runtime_base.hpp>

namespace heddle {

/// A combination that is linked into this program.
struct combination {
  std::string_view name;  ///< "POLLER-SCHEDULER-QUEUE"
  std::string_view poller;
  std::string_view scheduler;
  std::string_view queue;
  std::unique_ptr<runtime_base> (*make)(runtime_options);
};

/// All that are linked in; generated from the tables in meson.build.
std::span<const combination> combinations() noexcept;

/// Whether `name` is that of `known` with "auto" for the poller.
bool is_automatic_name_of(std::string_view name, const combination& known) noexcept;

/// The runtime of that name. A poller "auto" means io_uring where it can be had, without a kernel
/// thread where only that is refused (tuning.sqpoll_idle_ms is then 0), else epoll; each with one
/// warning on standard error. Errors: std::invalid_argument for an unknown name, with the
/// nearest, and as runtime; std::system_error when the poller cannot be had.
std::unique_ptr<runtime_base> make_runtime(std::string_view name, runtime_options options = {});

}  // namespace heddle
