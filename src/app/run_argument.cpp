#include "app/run_argument.hpp"

#include <spdlog/fmt/fmt.h>

#include "base/error.hpp"
#include "base/open_regular.hpp"
#include "checkpoint/save.hpp"

namespace pipetrain {
namespace fs = std::filesystem;

Options with_run_directory(Options options) {
  for (fs::path& config : options.configs) {
    const Found named = find_file(config);
    if (named.kind == FileKind::None && named.problem.empty())
      throw UsageError(
          fmt::format("{}: there is no such file or folder; name a run's folder, such as "
                      "runs/quickstart, or a config file (TOML)",
                      config.string()));
    if (named.kind != FileKind::Folder) continue;
    const fs::path run = config;
    config /= kConfigFile;
    const Found found = find_file(config);  // what cannot be examined is refused later
    if (found.problem.empty() && found.kind != FileKind::Regular)
      throw UsageError(
          fmt::format("{} is a folder without {}, so it is not a run directory; name a run's "
                      "folder, such as runs/quickstart, or a config",
                      run.string(), kConfigFile));
    if (options.output.empty()) options.output = run;
  }
  return options;
}

}  // namespace pipetrain
