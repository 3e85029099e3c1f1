#include "app/run_argument.hpp"

#include <spdlog/fmt/fmt.h>

#include "base/error.hpp"
#include "checkpoint/save.hpp"

namespace pipetrain {
namespace fs = std::filesystem;

Options with_run_directory(Options options) {
  for (fs::path& config : options.configs) {
    std::error_code ignored;
    if (!fs::is_directory(config, ignored)) continue;
    const fs::path run = config;
    config /= kConfigFile;
    if (!fs::is_regular_file(config, ignored))
      throw UsageError(
          fmt::format("{} is a folder without {}, so it is no run directory; name a run's folder, "
                      "as runs/quickstart, or a config",
                      run.string(), kConfigFile));
    if (options.output.empty()) options.output = run;
  }
  return options;
}

}  // namespace pipetrain
