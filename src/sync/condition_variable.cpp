#include <heddle/sync/condition_variable.hpp>

namespace heddle {

template class basic_condition_variable<native>;

}  // namespace heddle
