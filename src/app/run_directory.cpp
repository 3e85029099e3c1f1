#include "app/run_directory.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/error.hpp"
#include "config/read.hpp"

namespace pipetrain {
namespace {

// Keys that do not change what is computed, or only where and how long.
bool may_differ(std::string_view key) {
  constexpr std::array free = {"hardware.",      "metrics.",        "pipeline.stages",
                               "pipeline.split", "training.epochs", "training.steps"};
  return std::any_of(free.begin(), free.end(),
                     [&](std::string_view prefix) { return key.starts_with(prefix); });
}

}  // namespace

std::filesystem::path run_directory(const Options& options, const Config& config) {
  if (!options.output.empty()) return options.output;
  return std::filesystem::path("runs") / config.name;
}

Earlier check_earlier_run(const std::filesystem::path& folder, const Options& options,
                          const Config& config) {
  const std::filesystem::path resolved = folder / "config.resolved.toml";
  if (options.resume == "never" || !std::filesystem::exists(resolved)) return Earlier::Nothing;
  if (options.resume != "auto")
    throw UsageError(
        "--resume PATH needs checkpoints, which are not built yet; use --resume never");
  const Config earlier = read_config({resolved}, {}).config;
  std::string differing;
  for (const std::string& key : differing_keys(earlier, config))
    if (!may_differ(key)) differing += (differing.empty() ? "" : ", ") + key;
  if (!differing.empty())
    throw UsageError(fmt::format(
        "{}: holds a run of another config (these keys differ: {}); write elsewhere with --output "
        "DIR, or replace it with --resume never",
        folder.string(), differing));
  const bool same_length = earlier.training.epochs == config.training.epochs &&
                           earlier.training.steps == config.training.steps;
  const bool finished = std::filesystem::exists(folder / "model.safetensors");
  return finished && same_length ? Earlier::Finished : Earlier::Nothing;
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw DeviceError(fmt::format("{}: cannot be made: {}; choose another folder with --output",
                                  folder.string(), error.message()));
}

void write_file(const std::filesystem::path& file, const std::string& text) {
  const std::filesystem::path part = file.string() + ".part";
  std::FILE* const out = std::fopen(part.c_str(), "w");
  bool good = out != nullptr;
  if (out) {
    good = std::fwrite(text.data(), 1, text.size(), out) == text.size();
    good = std::fclose(out) == 0 && good;
  }
  if (!good || std::rename(part.c_str(), file.c_str()) != 0)
    throw DeviceError(
        fmt::format("{}: cannot be written: {}", file.string(), std::strerror(errno)));
}

}  // namespace pipetrain
