#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Up to three of `names` that `text` may have meant, nearest first, as "a, b, c". Empty if none is
/// near. For error messages.
std::string nearest_names(std::string_view text, const std::vector<std::string_view>& names);

}  // namespace heddle
