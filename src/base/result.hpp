#pragma once

#include <cerrno>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

namespace heddle {

/// A value or the std::error_code that says why there is none. The caller decides what an I/O error
/// means, so none is thrown until value() is asked of a failed result.
template <class T>
class [[nodiscard]] result {
 public:
  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  result(std::error_code error) : state_(std::in_place_index<1>, error) {}
  result(std::errc error) : result(std::make_error_code(error)) {}

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  /// The error; the empty code when there is a value.
  std::error_code error() const noexcept {
    return has_value() ? std::error_code() : std::get<1>(state_);
  }

  /// Errors: std::system_error when there is no value.
  T& value() & { return checked(), std::get<0>(state_); }
  const T& value() const& { return checked(), std::get<0>(state_); }
  T&& value() && { return checked(), std::get<0>(std::move(state_)); }

  template <class U>
  T value_or(U&& other) const& {
    return has_value() ? std::get<0>(state_) : static_cast<T>(std::forward<U>(other));
  }
  template <class U>
  T value_or(U&& other) && {
    return has_value() ? std::get<0>(std::move(state_)) : static_cast<T>(std::forward<U>(other));
  }

  /// Behaviour is undefined when there is no value.
  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }

 private:
  void checked() const {
    if (!has_value()) throw std::system_error(std::get<1>(state_));
  }

  std::variant<T, std::error_code> state_;
};

template <>
class [[nodiscard]] result<void> {
 public:
  result() = default;
  result(std::error_code error) : error_(error) {}
  result(std::errc error) : error_(std::make_error_code(error)) {}

  bool has_value() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return has_value(); }
  std::error_code error() const noexcept { return error_; }

  void value() const {
    if (error_) throw std::system_error(error_);
  }

 private:
  std::error_code error_;
};

/// The error of a system call that answered `-number`.
inline std::error_code system_error_code(int number) noexcept {
  return {number, std::system_category()};
}

}  // namespace heddle
