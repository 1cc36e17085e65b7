#include "parameters.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include <heddle/base/nearest.hpp>

namespace heddle::servers {
namespace {

std::string joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

}  // namespace

std::uint64_t number_in(std::string_view what, std::string_view text, std::uint64_t least,
                        std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw std::invalid_argument(std::string(what) + " '" + std::string(text) +
                                "' is not allowed; a number from " + std::to_string(least) +
                                " to " + std::to_string(most));
  }
  return value;
}

std::string allowed_values(const parameter& parameter) {
  if (!parameter.words.empty()) return joined(parameter.words);
  return std::to_string(parameter.least) + " to " + std::to_string(parameter.most);
}

parameter_values::parameter_values(std::string_view application,
                                   std::span<const parameter> parameters)
    : application_(application), parameters_(parameters) {
  for (const parameter& one : parameters) values_.push_back(one.standard);
}

std::size_t parameter_values::index_of(std::string_view name) const noexcept {
  return static_cast<std::size_t>(std::ranges::find(parameters_, name, &parameter::name) -
                                  parameters_.begin());
}

std::size_t parameter_values::require(std::string_view name) const {
  const std::size_t index = index_of(name);
  if (index == parameters_.size())
    throw std::logic_error(std::string(application_) + " has no parameter " + std::string(name));
  return index;
}

void parameter_values::set(std::string_view assignment) {
  const std::string application(application_);
  const std::string given(assignment);
  if (parameters_.empty())
    throw std::invalid_argument(application + " takes no parameters; '" + given + "' is too much");
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos)
    throw std::invalid_argument(application + " parameter '" + given + "' is not NAME=VALUE");
  const std::string_view name = assignment.substr(0, equals);
  const std::string_view text = assignment.substr(equals + 1);

  const std::size_t index = index_of(name);
  if (index == parameters_.size()) {
    std::vector<std::string_view> names;
    for (const parameter& one : parameters_) names.push_back(one.name);
    const std::string nearest = nearest_names(name, names);
    throw std::invalid_argument(
        application + " parameter '" + std::string(name) + "' is unknown; " +
        (nearest.empty() ? "there are: " + joined(names) : "nearest: " + nearest));
  }
  const parameter& one = parameters_[index];
  const std::string what = application + " " + std::string(name);
  if (one.words.empty()) {
    values_[index] = static_cast<std::uint32_t>(number_in(what, text, one.least, one.most));
    return;
  }
  const auto word = std::ranges::find(one.words, text);
  if (word == one.words.end())
    throw std::invalid_argument(what + " '" + std::string(text) + "' is not allowed; one of " +
                                allowed_values(one));
  values_[index] = static_cast<std::uint32_t>(word - one.words.begin());
}

std::uint32_t parameter_values::number(std::string_view name) const {
  return values_[require(name)];
}

std::string_view parameter_values::word(std::string_view name) const {
  const std::size_t index = require(name);
  return parameters_[index].words[values_[index]];
}

std::string parameter_values::text(std::string_view name) const {
  const std::size_t index = require(name);
  const parameter& one = parameters_[index];
  return one.words.empty() ? std::to_string(values_[index])
                           : std::string(one.words[values_[index]]);
}

}  // namespace heddle::servers
