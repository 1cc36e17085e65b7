#pragma once

#include <string>

namespace heddle {

/// CPU quota of the control group of this process, in processors; 0 when there is none. Reads
/// version 1 and version 2 hierarchies, and takes the smallest quota from the group up to the root.
/// `root`: prefix of /proc and /sys, so that tests can show other machines.
double cgroup_processors(const std::string& root = "");

/// Processors that this process may use: its affinity mask, cut to the quota rounded up; at
/// least 1.
unsigned default_workers();

}  // namespace heddle
