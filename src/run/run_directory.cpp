#include "run/run_directory.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/open_regular.hpp"
#include "checkpoint/atomic_file.hpp"
#include "checkpoint/folder.hpp"

namespace pipetrain {
namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse_output(const fs::path& folder, std::string_view why) {
  throw UsageError(
      fmt::format("{}: the run directory cannot be made there: {}; name another with --output",
                  folder.string(), why));
}

// Lets a pointer that is there name that checkpoint, or removes it if there is no such checkpoint.
void point(const fs::path& pointer, const std::vector<std::int64_t>& kept, std::int64_t step) {
  if (!is_there(pointer)) return;
  if (std::ranges::find(kept, step) == kept.end()) return remove_file(pointer);
  write_file(pointer, checkpoint_name(step) + "\n");
}

}  // namespace

fs::path run_directory(const Options& options, const Config& config) {
  if (!options.output.empty()) return options.output;
  return fs::path("runs") / config.name;
}

void check_output(const fs::path& folder) {
  for (fs::path path = folder; !path.empty(); path = path.parent_path()) {
    const Found found = find_file(path);
    if (!found.problem.empty()) refuse_output(folder, found.problem);
    if (found.kind != FileKind::None && found.kind != FileKind::Folder)
      throw UsageError(fmt::format(
          "{} is a file, so the run directory {} cannot be made; name another with --output",
          path.string(), folder.string()));
    if (found.kind == FileKind::Folder || path == path.parent_path()) return;
  }
}

void check_writable(const fs::path& folder) {
  fs::path path = fs::absolute(folder).lexically_normal();
  while (find_file(path).kind == FileKind::None && path != path.parent_path())
    path = path.parent_path();
  if (::access(path.c_str(), W_OK | X_OK) != 0)
    refuse_output(folder, fmt::format("{}: {}", path.string(), std::strerror(errno)));
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw DeviceError(fmt::format("{}: cannot be made: {}; choose another folder with --output",
                                  folder.string(), error.message()));
}

void remove_file(const fs::path& file) {
  std::error_code error;
  fs::remove(file, error);
  if (error)
    throw DeviceError(fmt::format("{}: cannot be removed: {}; choose another folder with --output",
                                  file.string(), error.message()));
}

void clear_run(const fs::path& folder, const Progress* resumed) {
  for (const char* of_the_end : {"model.safetensors", "report.html"})
    remove_file(folder / of_the_end);
  const fs::path checkpoints = folder / "checkpoints";
  remove_leftovers(checkpoints);
  for (const std::int64_t later : committed_checkpoints(checkpoints)) {
    if (resumed && later <= resumed->step) continue;
    if (resumed)
      spdlog::info("{}: removed, because it is later than the one that this run resumes from",
                   (checkpoints / checkpoint_name(later)).string());
    remove_checkpoint(checkpoints, later);
  }
  const std::vector<std::int64_t> kept = committed_checkpoints(checkpoints);
  point(checkpoints / "latest", kept, kept.empty() ? -1 : kept.back());
  point(checkpoints / "best", kept, resumed && resumed->best ? resumed->best->step : -1);
}

}  // namespace pipetrain
