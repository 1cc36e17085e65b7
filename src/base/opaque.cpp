#include <cerrno>

#include <heddle/base/opaque.hpp>

namespace heddle {

int current_errno() noexcept {
  HEDDLE_OPAQUE_BODY;
  return errno;
}

}  // namespace heddle
