#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::servers {

/// One thing that can be set for an application, as NAME=VALUE: a number, or one of some words.
struct parameter {
  std::string_view name;
  std::string_view meaning;
  std::uint32_t standard;  ///< unless it is set; of words, the index
  std::uint32_t least = 0;
  std::uint32_t most = 0;
  std::span<const std::string_view> words{};  ///< empty: a number from least to most
};

/// Values for all parameters of an application.
class parameter_values {
 public:
  /// The standard values. `application` is for messages; both must outlive the values.
  parameter_values(std::string_view application, std::span<const parameter> parameters);

  /// Applies "NAME=VALUE"; the last of several counts. Errors: std::invalid_argument that says what
  /// is allowed.
  void set(std::string_view assignment);

  // Errors: std::logic_error when there is no such parameter.
  std::uint32_t number(std::string_view name) const;
  std::string_view word(std::string_view name) const;
  /// As it would be set.
  std::string text(std::string_view name) const;

  std::span<const parameter> parameters() const noexcept { return parameters_; }

 private:
  std::size_t index_of(std::string_view name) const noexcept;
  std::size_t require(std::string_view name) const;

  std::string_view application_;
  std::span<const parameter> parameters_;
  std::vector<std::uint32_t> values_;
};

/// What is allowed for it: "1 to 64", or "a, b".
std::string allowed_values(const parameter& parameter);

/// A whole number in a range. Errors: std::invalid_argument that says what is allowed.
std::uint64_t number_in(std::string_view what, std::string_view text, std::uint64_t least,
                        std::uint64_t most);

}  // namespace heddle::servers
