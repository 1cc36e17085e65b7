#include <charconv>
#include <stdexcept>
#include <string>
#include <vector>

#include <heddle/base/nearest.hpp>
#include <heddle/schedulers/tuning.hpp>

namespace heddle {

namespace {

/// Policies of other schedulers, as near as these values come to them; docs/tuning.md has the
/// sources.
tuning like_go() {
  tuning values;
  values.poll_interval_fibers = 1000000;  // polls when idle, or from its monitor thread
  values.poll_interval_us = 10000;
  values.overflow_interval_fibers = 61;
  values.steal_rounds = 4;
  values.wake_after_fibers = 0;
  values.lifo_slot = 1;
  values.lifo_slot_most_in_row = 1000;  // bounded by the time slice only
  values.harvest_events = 128;
  return values;
}

tuning like_tokio() {
  tuning values;
  values.poll_interval_fibers = 61;
  values.poll_interval_us = 1000000;  // counts tasks only
  values.overflow_interval_fibers = 31;
  values.steal_rounds = 1;
  values.wake_after_fibers = 0;
  values.lifo_slot = 1;
  values.lifo_slot_most_in_row = 3;
  values.harvest_events = 1024;
  return values;
}

tuning like_libfev() {
  tuning values;
  values.poll_interval_us = 1000000;  // polls each time the fibers seen at the last poll have run
  values.steal_rounds = 1;
  values.most_searchers_percent = 100;
  values.wake_after_fibers = 0;
  values.harvest_events = 64;
  return values;
}

struct named_preset {
  std::string_view name;
  tuning (*values)();
};

constexpr std::array presets = {
    named_preset{"heddle", [] { return tuning(); }},
    named_preset{"go", like_go},
    named_preset{"tokio", like_tokio},
    named_preset{"libfev", like_libfev},
};

}  // namespace

tuning tuning::preset(std::string_view name) {
  std::string known;
  for (const named_preset& one : presets) {
    if (name == one.name) return one.values();
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  throw std::invalid_argument("tuning preset '" + std::string(name) +
                              "' is unknown; there are: " + known);
}

void tuning::set(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view name = assignment.substr(0, equals);
  const std::string_view text =
      equals == std::string_view::npos ? std::string_view() : assignment.substr(equals + 1);
  if (equals == std::string_view::npos)
    throw std::invalid_argument("tuning '" + std::string(assignment) + "' is not NAME=VALUE");
  if (name == "preset") {
    *this = preset(text);
    return;
  }

  for (const tuning_field& field : tuning_fields) {
    if (name != field.name) continue;
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < field.least ||
        value > field.most) {
      throw std::invalid_argument("tuning " + std::string(name) + "='" + std::string(text) +
                                  "' is not allowed; a number from " + std::to_string(field.least) +
                                  " to " + std::to_string(field.most));
    }
    this->*field.value = value;
    return;
  }

  std::vector<std::string_view> names{"preset"};
  for (const tuning_field& field : tuning_fields) names.push_back(field.name);
  const std::string nearest = nearest_names(name, names);
  throw std::invalid_argument("tuning '" + std::string(name) + "' is unknown" +
                              (nearest.empty() ? "" : "; nearest: " + nearest));
}

}  // namespace heddle
