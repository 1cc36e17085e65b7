#pragma once

/// Everything a program needs that names its combination at run time; the headers of queues,
/// schedulers and pollers are for those that name it by type.
#include <heddle/base/result.hpp>
#include <heddle/fibers/spawn.hpp>
#include <heddle/make_runtime.hpp>
#include <heddle/net/socket.hpp>
#include <heddle/net/stream.hpp>
#include <heddle/runtime_base.hpp>
#include <heddle/time/sleep.hpp>
