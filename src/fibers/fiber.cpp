#include <cxxabi.h>

#include <heddle/base/opaque.hpp>
#include <heddle/fibers/fiber.hpp>

namespace heddle {

exception_state& current_exception_state() noexcept {
  // The worker loop, which never moves, keeps the reference; fibers must not call this.
  return *reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
}

}  // namespace heddle
