#pragma once

#include <heddle/queues/epochs.hpp>
#include <heddle/queues/faa_array.hpp>

namespace heddle {

/// faa_array with epochs in place of hazard pointers: see both.
struct faa_array_epochs : basic_faa_array<epochs> {};

static_assert(run_queue<faa_array_epochs::type<void*, native>, void*>);

}  // namespace heddle
