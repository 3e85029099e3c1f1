// pipetrain plan: which layers on which devices, from a profile. No device is touched.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <array>
#include <charconv>
#include <cmath>
#include <iostream>
#include <string_view>

#include "app/verbs.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "config/byte_size.hpp"
#include "plan/pipedream/explore.hpp"
#include "plan/proposal.hpp"
#include "plan/read_profile.hpp"

namespace pipetrain {
namespace {

constexpr std::int64_t kMostDevices = 1 << 16;

// What the planners are asked: the profile, and the command line's words as values.
struct PlanInput {
  Profile profile;
  std::string where;  // the profile's file
  std::vector<DeviceLevel> levels;
  std::optional<std::int64_t> memory_bytes = {};
};

// "8GiB", or a number of bytes.
std::int64_t bytes_in(const std::string& text) {
  double bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  const bool plain = error == std::errc{} && end == text.data() + text.size();
  if (!plain) bytes = static_cast<double>(config::parse_bytes(text).value_or(0));
  if (bytes >= 1 && bytes < 9e18) return static_cast<std::int64_t>(bytes);
  throw UsageError(fmt::format(
      "--memory {}: that is no size; write the bytes of a device, as 8GiB or 8589934592",
      printable(text)));
}

std::vector<DeviceLevel> levels_in(const Options& options) {
  const auto& devices = options.devices;
  const auto& bandwidth = options.bandwidth;
  if (devices.empty())
    throw UsageError(
        "pipetrain plan: --devices is missing; write how many there are, as --devices 4, or for "
        "two servers of four --devices 4,2");
  if (bandwidth.size() != devices.size())
    throw UsageError(fmt::format(
        "--bandwidth has {} numbers and --devices {} has {}; write the bytes per second of each "
        "level, inside out, as --bandwidth 1.25e9{}",
        bandwidth.size(), fmt::join(devices, ","), devices.size(),
        devices.size() > 1 ? ",.." : ""));
  std::vector<DeviceLevel> levels;
  std::int64_t count = 1;
  for (std::size_t l = 0; l < devices.size(); ++l) {
    levels.push_back({devices[l], bandwidth[l]});
    count *= devices[l];
    if (count > kMostDevices)
      throw UsageError(fmt::format("--devices {}: that is more than {} devices; write fewer",
                                   fmt::join(devices, ","), kMostDevices));
  }
  return levels;
}

PlanInput plan_input(const Options& options) {
  if (!options.configs.empty())
    throw UsageError(fmt::format(
        "{}: a plan from a config is not built yet; write --profile FILE, a graph.txt of "
        "PipeDream's profiler, instead",
        printable(options.configs.front().string())));
  if (options.profile.empty())
    throw UsageError(
        "pipetrain plan: --profile is missing; name a graph.txt of PipeDream's profiler");
  PlanInput input{.profile = {}, .where = options.profile.string(), .levels = levels_in(options)};
  if (options.memory) input.memory_bytes = bytes_in(*options.memory);
  input.profile = read_profile(options.profile);
  return input;
}

Proposal plan_pipedream(const PlanInput& input, const Options& options) {
  const bool code = options.cost_model == "code";
  return explore_pipedream(input.profile.cuts,
                           {.levels = input.levels,
                            .costs = code ? PipedreamCosts::Code : PipedreamCosts::Paper,
                            .straight = options.straight,
                            .memory_bytes = input.memory_bytes},
                           input.where);
}

struct Objective {
  std::string_view name;
  Proposal (*explore)(const PlanInput&, const Options&) = nullptr;  // null: not built yet
};
constexpr std::array<Objective, 3> kObjectives{{
    {"pipedream", plan_pipedream},
    {"bapipe"},
    {"simulate"},
}};

const Objective& objective_of(const Options& options) {
  for (const Objective& objective : kObjectives)
    if (objective.name == options.objective && objective.explore) return objective;
  throw UsageError(fmt::format("--objective {} is not built yet; write --objective pipedream",
                               printable(options.objective)));
}

}  // namespace

int plan(const Options& options) {
  const Objective& objective = objective_of(options);
  const Proposal proposal = objective.explore(plan_input(options), options);
  std::cout << (options.json ? proposal_json(proposal) : proposal_text(proposal)) << std::flush;
  return 0;
}

}  // namespace pipetrain
