#include <heddle/sync/mutex.hpp>

namespace heddle {

template class basic_mutex<native>;

}  // namespace heddle
