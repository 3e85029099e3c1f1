// pipetrain plan: which layers run on which devices, from a profile. Uses no device.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <string_view>
#include <vector>

#include "app/plan_input.hpp"
#include "app/verbs.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "checkpoint/atomic_file.hpp"
#include "plan/bapipe/explore.hpp"
#include "plan/bapipe/schedules.hpp"
#include "plan/pipedream/explore.hpp"
#include "plan/proposal.hpp"
#include "plan/proposal_svg.hpp"
#include "plan/search/search.hpp"

namespace pipetrain {
namespace {

// What PipeDream's model leaves out of this cluster, "latencies and shared links"; empty: nothing.
std::string left_out(const Cluster& cluster) {
  const auto any_level = [&](auto has) {
    return std::ranges::any_of(cluster.levels,
                               [&](const Cluster::Level& level) { return has(level.wire); });
  };
  std::vector<std::string_view> parts;
  if (any_level([](const Wire& wire) { return wire.latency_ms > 0; })) parts.push_back("latencies");
  if (any_level([](const Wire& wire) { return wire.shared; })) parts.push_back("shared links");
  if (!homogeneous(cluster)) parts.push_back("differences between devices");
  if (std::ranges::any_of(cluster.devices, [](const Cluster::Device& device) {
        return device.memory_bytes.has_value();
      }))
    parts.push_back("memory of devices (--memory sets a limit)");
  return fmt::format("{}", fmt::join(parts, ", "));
}

Proposal plan_pipedream(const PlanInput& input, const Options& options) {
  const auto levels = even_levels(input.cluster);
  if (!levels)
    throw UsageError(
        "--objective pipedream needs levels whose groups are all alike, which this cluster does "
        "not have; write --devices and --bandwidth, or another --objective");
  if (const std::string ignored = left_out(input.cluster); !ignored.empty())
    spdlog::warn("--objective pipedream plans without the cluster's {}", ignored);
  PartitionRequest request{
      .levels = {},
      .costs = options.cost_model == "code" ? PipedreamCosts::Code : PipedreamCosts::Paper,
      .straight = options.straight,
      .memory_bytes = input.memory_bytes};
  for (const EvenLevel& level : *levels)
    request.levels.push_back({level.size, level.bytes_per_second});
  Proposal proposal = explore_pipedream(input.cuts, request, input.where);
  if (!input.samples_assumed) set_samples(proposal, input);  // no time depends on assumed ones
  return proposal;
}

Proposal plan_bapipe(const PlanInput& input, const Options&) {
  Proposal proposal = explore_bapipe({.chains = chains_of(input),
                                      .cluster = input.cluster,
                                      .minibatch_samples = input.minibatch_samples,
                                      .memory_limit_bytes = input.memory_bytes});
  set_samples(proposal, input);
  proposal.keys = schedule_keys(proposal.schedule) + "\n";
  return proposal;
}

Proposal plan_simulate(const PlanInput& input, const Options&) {
  Proposal proposal = search_by_simulation(search_input(input)).proposal;
  set_samples(proposal, input);
  return proposal;
}

// ---- printing

struct PlanFormat {
  std::string_view name;
  std::string (*write)(const Proposal&);
};
constexpr std::array<PlanFormat, 3> kFormats{{
    {"text", proposal_text},
    {"json", proposal_json},
    {"svg", proposal_svg},
}};

const PlanFormat& plan_format_of(const Options& options) {
  const bool chosen = std::ranges::find(options.given, "--format") != options.given.end();
  if (options.json && chosen && options.format != "json")
    throw UsageError(fmt::format("--json and --format {} are two formats; write one of them",
                                 printable(options.format)));
  const std::string_view wanted = options.json ? "json" : std::string_view(options.format);
  for (const PlanFormat& format : kFormats)
    if (format.name == wanted) return format;
  throw UsageError(fmt::format("--format {}: no such format; write text, json or svg",
                               printable(options.format)));
}

struct Objective {
  std::string_view name;
  Proposal (*explore)(const PlanInput&, const Options&);
};
constexpr std::array<Objective, 3> kObjectives{{
    {"pipedream", plan_pipedream},
    {"bapipe", plan_bapipe},
    {"simulate", plan_simulate},
}};

const Objective& objective_of(const Options& options) {
  for (const Objective& objective : kObjectives)
    if (objective.name == options.objective) return objective;
  throw UsageError(
      fmt::format("--objective {}: no such objective; write pipedream, bapipe or simulate",
                  printable(options.objective)));
}

// Options that only some planners read.
struct PlannerOption {
  std::string_view name, objectives;
};
constexpr std::array<PlannerOption, 3> kPlannerOptions{{
    {"--straight", "pipedream or simulate"},
    {"--cost-model", "pipedream"},
    {"--allow-stale", "simulate"},
}};

void require_read(const Options& options) {
  for (const auto& [name, objectives] : kPlannerOptions)
    if (std::ranges::find(options.given, name) != options.given.end() &&
        objectives.find(options.objective) == std::string_view::npos)
      throw UsageError(fmt::format(
          "{} has no effect under --objective {}; leave it out, or write --objective {}", name,
          options.objective, objectives));
}

}  // namespace

int plan(const Options& options) {
  const Objective& objective = objective_of(options);
  require_read(options);
  const PlanFormat& format = plan_format_of(options);
  const PlanInput input = plan_input(options);
  Proposal proposal = objective.explore(input, options);
  name_layers(proposal, input.chain(input.minibatch_samples, 1));
  const std::string text = format.write(proposal);
  if (options.output.empty()) {
    std::cout << text << std::flush;
    return 0;
  }
  write_file(options.output, text);
  spdlog::info("plan  {}", options.output.string());
  return 0;
}

}  // namespace pipetrain
