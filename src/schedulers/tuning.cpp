#include <charconv>
#include <stdexcept>
#include <string>
#include <vector>

#include <heddle/base/nearest.hpp>
#include <heddle/schedulers/tuning.hpp>

namespace heddle {

tuning tuning::preset(std::string_view name) {
  if (name == "heddle") return {};
  throw std::invalid_argument("tuning preset '" + std::string(name) +
                              "' is unknown; there is: heddle");
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
