#include "run/trained.hpp"

#include <spdlog/fmt/fmt.h>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/open_regular.hpp"
#include "checkpoint/folder.hpp"
#include "run/run_directory.hpp"

namespace pipetrain {
namespace fs = std::filesystem;
namespace {

fs::path best_checkpoint(const Options& options, const fs::path& checkpoints) {
  if (!options.model.empty())
    throw UsageError("--best and --model both name weights; write one of them");
  if (is_there(checkpoints / "best")) return find_checkpoint(checkpoints / "best");
  throw DataError(
      fmt::format("{}: there is no checkpoint of a best validation; train with [validation] and "
                  "checkpoint.keep_best = true, or leave --best out (checkpoints of a run that was "
                  "resumed into this folder are in the folder that it came from)",
                  checkpoints.string()));
}

}  // namespace

fs::path weights_to_read(const Options& options, const Config& config) {
  const fs::path run = run_directory(options, config), checkpoints = run / "checkpoints";
  if (options.best) return best_checkpoint(options, checkpoints);
  if (!options.model.empty()) return options.model;
  const fs::path trained = run / "model.safetensors";
  if (is_there(trained)) return trained;
  if (!committed_checkpoints(checkpoints).empty()) return find_checkpoint(checkpoints);
  if (options.output.empty() && !config.model.init.empty()) return config.model.init;
  throw DataError(fmt::format(
      "{}: there are no trained weights; train first, or name a file with --model, or the run's "
      "folder with --output",
      trained.string()));
}

namespace {

// `weights`: run/model.safetensors, or run/checkpoints/step-00001000.
std::optional<fs::path> beside(const fs::path& weights, const char* name) {
  std::error_code ignored;
  fs::path folder = fs::absolute(weights, ignored).lexically_normal();
  for (int up = 0; up < 3; ++up) {
    if (find_file(folder / name).kind == FileKind::Regular) return folder / name;
    folder = folder.parent_path();
  }
  return std::nullopt;
}

}  // namespace

std::optional<fs::path> vocabulary_beside(const fs::path& weights) {
  return beside(weights, vocabulary_file);
}

std::optional<fs::path> pieces_beside(const fs::path& weights) {
  return beside(weights, pieces_file);
}

std::optional<fs::path> class_names_beside(const fs::path& weights) {
  return beside(weights, class_names_file);
}

}  // namespace pipetrain
