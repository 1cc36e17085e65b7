#include <heddle/sync/semaphore.hpp>

namespace heddle {

template class basic_semaphore<native>;

}  // namespace heddle
