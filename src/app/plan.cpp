// pipetrain plan: which layers on which devices, from a profile. No device is touched.
#include <spdlog/fmt/fmt.h>

#include <array>
#include <iostream>
#include <string_view>

#include "app/plan_input.hpp"
#include "app/verbs.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "plan/bapipe/explore.hpp"
#include "plan/bapipe/schedules.hpp"
#include "plan/pipedream/explore.hpp"
#include "plan/proposal.hpp"
#include "plan/search/search.hpp"

namespace pipetrain {
namespace {

Proposal plan_pipedream(const PlanInput& input, const Options& options) {
  const auto levels = even_levels(input.cluster);
  if (!levels)
    throw UsageError(
        "--objective pipedream knows levels of like groups only, and this cluster has others; "
        "write "
        "--devices and --bandwidth, or another --objective");
  PartitionRequest request{
      .levels = {},
      .costs = options.cost_model == "code" ? PipedreamCosts::Code : PipedreamCosts::Paper,
      .straight = options.straight,
      .memory_bytes = input.memory_bytes};
  for (const EvenLevel& level : *levels)
    request.levels.push_back({level.size, level.bytes_per_second});
  return explore_pipedream(input.cuts, request, input.where);
}

// Sizes of micro-batches: the mini-batch, its halves, and so on.
std::vector<LayerChain> chains_of(const PlanInput& input) {
  std::vector<LayerChain> chains;
  for (int samples = input.minibatch_samples; samples >= 1; samples /= 2)
    if (input.minibatch_samples % samples == 0) chains.push_back(input.chain(samples, 1));
  return chains;
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
  return search_by_simulation(search_input(input)).proposal;
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
  throw UsageError(fmt::format("--objective {}: there is none; write pipedream, bapipe or simulate",
                               printable(options.objective)));
}

}  // namespace

int plan(const Options& options) {
  const Objective& objective = objective_of(options);
  const PlanInput input = plan_input(options);
  Proposal proposal = objective.explore(input, options);
  name_layers(proposal, input.chain(input.minibatch_samples, 1));
  std::cout << (options.json ? proposal_json(proposal) : proposal_text(proposal)) << std::flush;
  return 0;
}

}  // namespace pipetrain
