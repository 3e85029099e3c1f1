#include "machine/cpu_quota.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace pipetrain {
namespace {

namespace fs = std::filesystem;

constexpr double kNone = std::numeric_limits<double>::infinity();

double ratio(double quota, double period) {
  return quota > 0 && period > 0 ? quota / period : kNone;  // -1 means no limit
}

// Version 2: "150000 100000", microseconds per period in microseconds, or "max 100000".
double quota_in_2(const fs::path& folder) {
  double quota = 0, period = 0;
  std::ifstream file(folder / "cpu.max");
  return file >> quota >> period ? ratio(quota, period) : kNone;
}

double quota_in_1(const fs::path& folder) {
  double quota = 0, period = 0;
  return std::ifstream(folder / "cpu.cfs_quota_us") >> quota &&
                 std::ifstream(folder / "cpu.cfs_period_us") >> period
             ? ratio(quota, period)
             : kNone;
}

// The least of a group and all around it. A container may see its own group as the root, whatever
// its name.
template <class QuotaIn>
double least(const fs::path& mount, const fs::path& group, QuotaIn quota_in) {
  double found = quota_in(mount);
  fs::path folder = mount;
  for (const fs::path& part : group.relative_path())
    found = std::min(found, quota_in(folder /= part));
  return found;
}

bool has_controller(const std::string& list, const std::string& name) {
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

}  // namespace

double cpu_quota(const fs::path& root) {
  const fs::path mounts = root / "sys/fs/cgroup";
  double found = kNone;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // 0::/group, or 4:cpu,cpuacct:/group
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1),
                      group = line.substr(second + 1);
    if (controllers.empty())
      found = std::min(found, least(mounts, group, quota_in_2));
    else if (has_controller(controllers, "cpu"))
      found = std::min(found, least(mounts / "cpu", group, quota_in_1));
  }
  return found;
}

}  // namespace pipetrain
