#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <heddle/base/nearest.hpp>
#include <heddle/make_runtime.hpp>

namespace heddle {
namespace {

constexpr std::string_view automatic = "auto-";

std::string_view without_poller(const combination& known) {
  return known.name.substr(known.poller.size() + 1);
}

const combination* find(std::string_view name) {
  for (const combination& known : combinations())
    if (known.name == name) return &known;
  return nullptr;
}

}  // namespace

bool is_automatic_name_of(std::string_view name, const combination& known) noexcept {
  return name.starts_with(automatic) && name.substr(automatic.size()) == without_poller(known);
}

std::unique_ptr<runtime_base> make_runtime(std::string_view name, runtime_options options) {
  if (const combination* known = find(name)) return known->make(std::move(options));
  if (name.starts_with(automatic)) {
    const std::string rest(name.substr(automatic.size()));
    const combination* ring = find("io_uring-" + rest);
    const combination* epoll = find("epoll-" + rest);
    std::string reason = "not built in";
    if (ring != nullptr) {
      try {
        return ring->make(options);
      } catch (const std::system_error& error) {
        reason = error.what();
      }
      if (std::exchange(options.tuning.sqpoll_idle_ms, 0u) != 0) {
        try {
          auto made = ring->make(options);
          std::fprintf(stderr, "heddle: io_uring is used without a kernel thread: %s\n",
                       reason.c_str());
          return made;
        } catch (const std::system_error& error) {
          reason = error.what();
        }
      }
    }
    if (epoll != nullptr) {
      std::fprintf(stderr, "heddle: io_uring cannot be used, epoll is used instead: %s\n",
                   reason.c_str());
      return epoll->make(std::move(options));
    }
  }
  std::vector<std::string_view> names;
  for (const combination& known : combinations()) names.push_back(known.name);
  const std::string nearest = nearest_names(name, names);
  throw std::invalid_argument("combination '" + std::string(name) + "' is unknown" +
                              (nearest.empty() ? "" : "; nearest: " + nearest));
}

}  // namespace heddle
