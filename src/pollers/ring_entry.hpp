#pragma once

#include <cstdint>

#include <heddle/base/intrusive_list.hpp>

namespace heddle {

/// Something that a ring has been asked for and can be asked to cancel. In one of the ring's lists.
struct ring_entry : list_links {
  std::uint64_t ring_tag = 0;  ///< names it in submissions and completions
};

}  // namespace heddle
