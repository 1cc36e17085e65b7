#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

#include <sched.h>

#include <heddle/base/processors.hpp>

namespace heddle {
namespace {

double smaller(double left, double right) {
  if (left == 0) return right;
  return right == 0 ? left : std::min(left, right);
}

/// Version 2: "max 100000" or "150000 100000", in microseconds.
double version_2_quota(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  return std::stod(quota) / period;
}

double version_1_quota(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
  std::ifstream period_file(folder + "/cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) return 0;
  return quota / period;
}

/// The smallest quota of `path` and the groups above it. In a container the path may name a group
/// that is not mounted here; the root of the mount is then the container's own group.
double smallest_quota(const std::string& mount, std::string path,
                      double (*read)(const std::string&)) {
  double quota = 0;
  while (path.size() > 1) {
    quota = smaller(quota, read(mount + path));
    path.erase(path.rfind('/'));
  }
  return smaller(quota, read(mount));
}

}  // namespace

double cgroup_processors(const std::string& root) {
  std::ifstream groups(root + "/proc/self/cgroup");
  double quota = 0;
  for (std::string line; std::getline(groups, line);) {
    // "ID:CONTROLLERS:PATH"; version 2 has no controllers.
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string path = line.substr(second + 1);
    std::istringstream controllers(line.substr(first + 1, second - first - 1));
    if (second == first + 1) {
      quota = smaller(quota, smallest_quota(root + "/sys/fs/cgroup", path, version_2_quota));
      continue;
    }
    for (std::string controller; std::getline(controllers, controller, ',');) {
      if (controller == "cpu")
        quota = smaller(quota, smallest_quota(root + "/sys/fs/cgroup/cpu", path, version_1_quota));
    }
  }
  return quota;
}

unsigned default_workers() {
  unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    processors = static_cast<unsigned>(std::max(1, CPU_COUNT(&allowed)));
  const double quota = cgroup_processors();
  if (quota > 0) processors = std::min(processors, static_cast<unsigned>(std::ceil(quota)));
  return std::max(1u, processors);
}

}  // namespace heddle
