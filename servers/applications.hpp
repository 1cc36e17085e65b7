#pragma once

#include <span>
#include <string_view>

#include "application.hpp"

namespace heddle::servers {

/// In the order in which they are listed.
std::span<const application* const> applications() noexcept;

/// Errors: std::invalid_argument that lists what there is.
const application& application_named(std::string_view name);

}  // namespace heddle::servers
