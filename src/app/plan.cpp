// pipetrain plan: which layers run on which devices, from a profile. Uses no device.
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <string_view>

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

Proposal plan_pipedream(const PlanInput& input, const Options& options) {
  const auto levels = even_levels(input.cluster);
  if (!levels)
    throw UsageError(
        "--objective pipedream needs levels whose groups are all alike, which this cluster does "
        "not have; write --devices and --bandwidth, or another --objective");
  PartitionRequest request{
      .levels = {},
      .costs = options.cost_model == "code" ? PipedreamCosts::Code : PipedreamCosts::Paper,
      .straight = options.straight,
      .memory_bytes = input.memory_bytes};
  for (const EvenLevel& level : *levels)
    request.levels.push_back({level.size, level.bytes_per_second});
  return explore_pipedream(input.cuts, request, input.where);
}

Proposal plan_bapipe(const PlanInput& input, const Options&) {
  Proposal proposal = explore_bapipe({.chains = chains_of(input),
                                      .cluster = input.cluster,
                                      .minibatch_samples = input.minibatch_samples,
                                      .memory_limit_bytes = input.memory_bytes});
  proposal.keys = schedule_keys(proposal.schedule) + "\n";
  return proposal;
}

Proposal plan_simulate(const PlanInput& input, const Options&) {
  Proposal proposal = search_by_simulation(search_input(input)).proposal;
  set_transfers(proposal, input);
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

}  // namespace

int plan(const Options& options) {
  const Objective& objective = objective_of(options);
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
