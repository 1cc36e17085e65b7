#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace peers {

/// A whole number that follows WORKERS as NAME=VALUE, or one of several words.
struct parameter {
  std::string_view name;
  std::uint64_t* value;  ///< where it goes; an index into `words` if there are any
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::span<const std::string_view> words = {};
};

/// What a server takes after WORKERS, if that is nothing.
struct no_options {
  std::span<const parameter> parameters() const { return {}; }
};

/// Stores the value that `assignment`, NAME=VALUE, gives to one of `allowed`.
/// Errors: std::invalid_argument that says what is allowed.
void assign(std::span<const parameter> allowed, const std::string& assignment);

/// Parses `text` as the whole number `name`. Errors: std::invalid_argument that names the range.
std::uint64_t whole_number(std::string_view name, const std::string& text, std::uint64_t least,
                           std::uint64_t most);

}  // namespace peers
