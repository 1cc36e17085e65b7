#include <heddle/base/opaque.hpp>
#include <heddle/fibers/context.hpp>

namespace heddle {

#if defined(HEDDLE_ASAN)
HEDDLE_OPAQUE context*& context::switched_from() noexcept {
  HEDDLE_OPAQUE_BODY;
  thread_local context* from = nullptr;
  return from;
}
#endif

}  // namespace heddle
