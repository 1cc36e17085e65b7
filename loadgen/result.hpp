#pragma once

#include <string>

#include "options.hpp"
#include "run.hpp"

namespace heddle::load {

/// One JSON object on one line, as loadgen/result.schema.json describes it.
std::string to_json(const options& run, const outcome& measured);

/// Whether the run took its planned course and no error occurred.
bool succeeded(const outcome& measured);

/// One line for a person on why the run did not succeed.
std::string complaint(const options& run, const outcome& measured);

}  // namespace heddle::load
