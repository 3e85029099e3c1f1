#include "app/run_directory.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.hpp"
#include "config/read.hpp"

namespace pipetrain {
namespace {

constexpr std::string_view ways_out =
    "write elsewhere with --output DIR, or replace it with --resume never";

constexpr std::array length_keys = {"training.epochs", "training.steps"};

// Keys that do not change what is computed, or only where and how long.
bool may_differ(std::string_view key) {
  constexpr std::array free = {"hardware.",      "metrics.",        "pipeline.stages",
                               "pipeline.split", "training.epochs", "training.steps"};
  return std::any_of(free.begin(), free.end(),
                     [&](std::string_view prefix) { return key.starts_with(prefix); });
}

Config config_of_run(const std::filesystem::path& folder) {
  try {
    return read_config({folder / "config.resolved.toml"}, {}).config;
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}\n{}: what this earlier run was cannot be told; {}",
                                 error.what(), folder.string(), ways_out));
  }
}

}  // namespace

std::filesystem::path run_directory(const Options& options, const Config& config) {
  if (!options.output.empty()) return options.output;
  return std::filesystem::path("runs") / config.name;
}

Earlier check_earlier_run(const std::filesystem::path& folder, const Options& options,
                          const Config& config) {
  if (options.resume != "auto" && options.resume != "never")
    throw UsageError(
        "--resume PATH needs checkpoints, which are not built yet; use --resume never");
  if (options.resume == "never" || !std::filesystem::exists(folder / "config.resolved.toml"))
    return Earlier::Nothing;
  std::vector<std::string> differing, longer;
  for (const std::string& key : differing_keys(config_of_run(folder), config)) {
    if (!may_differ(key)) differing.push_back(key);
    if (std::ranges::find(length_keys, key) != length_keys.end()) longer.push_back(key);
  }
  if (!differing.empty())
    throw UsageError(fmt::format("{}: holds a run of another config (these keys differ: {}); {}",
                                 folder.string(), fmt::join(differing, ", "), ways_out));
  if (!std::filesystem::exists(folder / "model.safetensors")) return Earlier::Nothing;
  if (!longer.empty())
    throw UsageError(
        fmt::format("{}: holds a finished run of another length ({}), and to go on from it needs "
                    "checkpoints, which are not built yet; {}",
                    folder.string(), fmt::join(longer, ", "), ways_out));
  return Earlier::Finished;
}

nlohmann::ordered_json end_of_run(const std::filesystem::path& folder) {
  std::ifstream lines(folder / "metrics.jsonl");
  auto end = nlohmann::ordered_json::object();
  for (std::string line; std::getline(lines, line);) {
    auto event = nlohmann::ordered_json::parse(line, nullptr, false);
    if (event.is_object() && event.value("event", "") == "end") end = std::move(event);
  }
  end.erase("event");
  return end;
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw DeviceError(fmt::format("{}: cannot be made: {}; choose another folder with --output",
                                  folder.string(), error.message()));
}

void remove_file(const std::filesystem::path& file) {
  std::error_code error;
  std::filesystem::remove(file, error);
  if (error)
    throw DeviceError(fmt::format("{}: cannot be removed: {}; choose another folder with --output",
                                  file.string(), error.message()));
}

}  // namespace pipetrain
