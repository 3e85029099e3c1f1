#include "plan/pipedream/explore.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/bytes_text.hpp"
#include "base/check.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"

namespace pipetrain {
namespace {

// About half a minute on one core.
constexpr double kMostCandidates = 4e9;

using Stages = std::vector<PartitionStage>;

int whole_model(const CutStates& cuts) { return static_cast<int>(cuts.states.size()) - 1; }

int devices_of(const PartitionRequest& request) {
  int devices = 1;
  for (const DeviceLevel& level : request.levels) devices *= level.groups;
  return devices;
}

double bottleneck_of(const Stages& stages) {
  double longest = 0;
  for (const PartitionStage& stage : stages)
    longest = std::max({longest, stage.time_ms, stage.transfer_ms});
  return longest;
}

// The most stages that the model can be cut into: the longest row of states, each inside the next.
int most_stages(const CutStates& cuts) {
  Indexed<int> longest(cuts.states.size(), 1);
  for (std::size_t s = 0; s < longest.size(); ++s)
    for (const int inner : cuts.inside[s]) longest[s] = std::max(longest[s], longest[inner] + 1);
  return longest.back();
}

std::string bytes_of(double bytes) {
  const double whole = std::ceil(bytes);
  return fmt::format("{} ({:.0f} bytes)", bytes_text(static_cast<std::size_t>(whole)), whole);
}

std::string stage_text(const CutStates& cuts, const Stages& stages, std::size_t which) {
  const auto layers = cuts.layers(stages[which].from, stages[which].to);
  const auto name = [&](int layer) { return printable(cuts.names[layer]); };
  return fmt::format("stage {} of {} ({} to {})", which, stages.size(), name(layers.front()),
                     name(layers.back()));
}

// ---- refusals

void refuse_too_much(const CutStates& cuts, const PartitionRequest& request,
                     std::string_view where) {
  const double count = candidates(cuts, request);
  if (count > kMostCandidates)
    throw UsageError(fmt::format(
        "{}: {} cuts on these devices are about {:.1e} candidates, more than the {:.0e} that are "
        "searched; join layers of the profile, or write fewer devices in a level of --devices",
        printable(where), cuts.states.size(), count, kMostCandidates));
}

void refuse_no_time(const CutStates& cuts, std::string_view where) {
  if (!(cuts.states.back().compute_ms > 0))
    throw UsageError(
        fmt::format("{}: all times are 0; a plan needs the milliseconds that its layers take",
                    printable(where)));
}

void refuse_too_straight(const CutStates& cuts, const PartitionRequest& request,
                         std::string_view where) {
  const int most = most_stages(cuts), devices = devices_of(request);
  if (request.straight && devices > most)
    throw UsageError(
        fmt::format("--straight: {} devices need {} stages, but {} can be cut into at most {}; "
                    "leave out --straight, or write --devices {} or less",
                    devices, devices, printable(where), most, most));
}

// What would make it fit, among the options that can be tried here.
std::string way_out(const CutStates& cuts, PartitionRequest request) {
  if (!std::exchange(request.straight, false)) return "";
  return fastest_partition(cuts, request) ? ", leave out --straight" : "";
}

[[noreturn]] void refuse_memory(const CutStates& cuts, const PartitionRequest& request,
                                std::string_view where) {
  const auto smallest = smallest_partition(cuts, request);
  PIPETRAIN_CHECK(smallest, "{} states have no partition at all", cuts.states.size());
  const auto largest = std::ranges::max_element(
      *smallest, {}, [](const PartitionStage& stage) { return stage.memory_bytes; });
  const auto limit = static_cast<double>(request.memory_bytes.value_or(0));
  const auto lacking = std::max(0.0, largest->memory_bytes - limit);
  throw UsageError(fmt::format(
      "{}: no plan fits {} of memory: in the one that needs least, {} needs {} on each device, "
      "which is short of {}; write --memory {:.0f} or more{}, or profile smaller mini-batches",
      printable(where), bytes_text(static_cast<std::size_t>(limit)),
      stage_text(cuts, *smallest, static_cast<std::size_t>(largest - smallest->begin())),
      bytes_of(largest->memory_bytes), bytes_of(lacking), std::ceil(largest->memory_bytes),
      way_out(cuts, request)));
}

// ---- the proposal

ProposedStage proposed(const CutStates& cuts, const PartitionStage& stage, int first_layer) {
  const std::vector<int> layers = cuts.layers(stage.from, stage.to);
  ProposedStage result{.first_layer = first_layer,
                       .last_layer = first_layer + static_cast<int>(layers.size()) - 1,
                       .replicas = static_cast<int>(stage.devices.size()),
                       .devices = stage.devices,
                       .time_ms = stage.time_ms,
                       .memory_bytes = std::llround(stage.memory_bytes)};
  for (const int layer : layers) result.layer_names.push_back(cuts.names[layer]);
  return result;
}

Proposal proposal_of(const CutStates& cuts, const Stages& stages, PipedreamCosts costs) {
  Proposal result;
  result.objective = result.schedule = "pipedream";
  int layers = 0;
  for (const PartitionStage& stage : stages) {
    result.stages.push_back(proposed(cuts, stage, layers));
    layers = result.stages.back().last_layer + 1;
    if (costs == PipedreamCosts::Paper && stage.to != whole_model(cuts))
      result.stages.back().transfer_ms = stage.transfer_ms;
  }
  result.step_ms = result.bottleneck_ms = bottleneck_of(stages);
  result.speedup = cuts.states.back().compute_ms / result.bottleneck_ms;
  return result;
}

// ---- what it was compared with

std::string chosen_name(const PartitionRequest& request, const Proposal& proposal) {
  return fmt::format("pipedream{}, {}",
                     request.costs == PipedreamCosts::Code ? " by its code's costs" : "",
                     replicas_text(proposal));
}

bool is_data_parallel(const Proposal& proposal) {
  return proposal.stages.size() == 1 && proposal.stages[0].replicas > 1;
}

// By how much a device is too small for the whole model; "" if it is not.
std::string lacking_for_all(const CutStates& cuts, const PartitionRequest& request) {
  if (!request.memory_bytes) return "";
  const int whole = whole_model(cuts);
  const auto copies = static_cast<double>(copies_held(request.costs, {}));
  const double needed =
      copies * (cuts.saved_bytes(kNoLayers, whole) + cuts.parameter_bytes(kNoLayers, whole));
  const double lacking = needed - static_cast<double>(*request.memory_bytes);
  return lacking > 0 ? fmt::format("each device is short of {}", bytes_of(lacking)) : "";
}

ComparedPlan compared(std::string what, double step_ms, const Proposal& chosen,
                      std::string refused) {
  if (!refused.empty()) return {std::move(what), {}, std::move(refused)};
  return {std::move(what), step_ms, slower_text(step_ms, chosen.step_ms)};
}

ComparedPlan straight_plan(const CutStates& cuts, PartitionRequest request,
                           const Proposal& chosen) {
  request.straight = true;
  const int devices = devices_of(request), most = most_stages(cuts);
  std::string what = fmt::format("straight, {} stages", devices);
  if (devices > most)
    return {std::move(what), {}, fmt::format("the model can be cut into at most {} stages", most)};
  const auto stages = fastest_partition(cuts, request);
  if (!stages) return {std::move(what), {}, "does not fit the memory"};
  return compared(std::move(what), bottleneck_of(*stages), chosen, "");
}

void compare(const CutStates& cuts, const PartitionRequest& request, Proposal& proposal) {
  const int devices = devices_of(request);
  const double one_ms = cuts.states.back().compute_ms;
  const double all_ms =
      data_parallel_ms(request.costs, one_ms, cuts.states.back().parameter_bytes, request.levels);
  proposal.data_parallel_speedup = one_ms / all_ms;
  const bool is_all = is_data_parallel(proposal);
  const std::string all = fmt::format("data parallel on {} devices", devices);
  proposal.compared.push_back(
      {is_all ? all : chosen_name(request, proposal), proposal.step_ms, ""});
  if (devices == 1) return;
  const std::string lacking = lacking_for_all(cuts, request);
  if (!is_all) proposal.compared.push_back(compared(all, all_ms, proposal, lacking));
  if (!request.straight) proposal.compared.push_back(straight_plan(cuts, request, proposal));
  proposal.compared.push_back(compared("one device", one_ms, proposal, lacking));
}

}  // namespace

Proposal explore_pipedream(const CutStates& cuts, const PartitionRequest& request,
                           std::string_view where) {
  PIPETRAIN_CHECK(!cuts.states.empty() && !request.levels.empty(), "there is nothing to plan");
  refuse_no_time(cuts, where);
  refuse_too_much(cuts, request, where);
  refuse_too_straight(cuts, request, where);
  const auto stages = fastest_partition(cuts, request);
  if (!stages) refuse_memory(cuts, request, where);
  Proposal proposal = proposal_of(cuts, *stages, request.costs);
  compare(cuts, request, proposal);
  return proposal;
}

}  // namespace pipetrain
