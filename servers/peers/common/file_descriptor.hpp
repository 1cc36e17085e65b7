#pragma once

#include <cerrno>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace peers {

/// Owns one open descriptor, or none.
class file_descriptor {
 public:
  file_descriptor() = default;
  explicit file_descriptor(int number) : number_(number) {}
  file_descriptor(file_descriptor&& other) noexcept : number_(other.release()) {}
  file_descriptor& operator=(file_descriptor other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~file_descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  int get() const { return number_; }

  /// Gives the descriptor to the caller, who closes it.
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

/// The result of a system call. Throws std::system_error of errno, with `what`, if it is negative.
inline int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

}  // namespace peers
