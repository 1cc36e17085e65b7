#include "common/parameters.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace peers {
namespace {

/// "mutex or condition", "0 to 100".
std::string allowed_values(const parameter& which) {
  if (which.words.empty()) return std::to_string(which.least) + " to " + std::to_string(which.most);
  std::string text;
  for (const std::string_view word : which.words) {
    if (!text.empty()) text += " or ";
    text += word;
  }
  return text;
}

std::string allowed_names(std::span<const parameter> allowed) {
  std::string text;
  for (const parameter& one : allowed) {
    if (!text.empty()) text += ", ";
    text.append(one.name).append(" (").append(allowed_values(one)).append(")");
  }
  return text.empty() ? "there are none here" : "allowed: " + text;
}

}  // namespace

void assign(std::span<const parameter> allowed, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string name = assignment.substr(0, equals);
  const auto which = std::ranges::find(allowed, name, &parameter::name);
  if (equals == std::string::npos || which == allowed.end()) {
    throw std::invalid_argument("\"" + assignment + "\" is no NAME=VALUE that is known; " +
                                allowed_names(allowed));
  }
  const std::string value = assignment.substr(equals + 1);
  if (which->words.empty()) {
    *which->value = whole_number(name, value, which->least, which->most);
    return;
  }
  const auto word = std::ranges::find(which->words, value);
  if (word == which->words.end()) {
    throw std::invalid_argument(name + " is \"" + value + "\" but must be " +
                                allowed_values(*which));
  }
  *which->value = static_cast<std::uint64_t>(word - which->words.begin());
}

std::uint64_t whole_number(std::string_view name, const std::string& text, std::uint64_t least,
                           std::uint64_t most) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end || number < least || number > most) {
    throw std::invalid_argument(std::string(name) + " is \"" + text +
                                "\" but must be a whole number from " + std::to_string(least) +
                                " to " + std::to_string(most));
  }
  return number;
}

}  // namespace peers
