#include "base/process_limits.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <sys/resource.h>

#include <vector>

namespace pipetrain {

std::string limits_text() {
  std::vector<std::string> limits;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    limits.push_back(
        fmt::format("{} processes and threads of this user, ulimit -u", limit.rlim_cur));
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    limits.push_back(fmt::format("{:.1f} MiB of memory, ulimit -v",
                                 static_cast<double>(limit.rlim_cur) / (1 << 20)));
  return limits.empty() ? "" : fmt::format(" (limits: {})", fmt::join(limits, "; "));
}

}  // namespace pipetrain
