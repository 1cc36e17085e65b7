#pragma once

#include "common/file_descriptor.hpp"

namespace peers {

/// From here on SIGTERM and SIGINT only make stop events readable, and SIGPIPE does nothing (libuv
/// writes without MSG_NOSIGNAL). Call it before any thread starts: threads inherit the mask.
void block_stop_signals();

/// A descriptor that becomes readable when a stop signal comes, and stays so: nobody takes the
/// signal, so every loop that watches a stop event of its own sees it.
file_descriptor open_stop_event();

/// As if SIGTERM had come.
void request_stop();

}  // namespace peers
