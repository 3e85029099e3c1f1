#include "plan/proposal.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/columns.hpp"
#include "base/printable.hpp"
#include "plan/proposal_words.hpp"
#include "program/communication_json.hpp"

namespace pipetrain {
namespace {

using Json = nlohmann::ordered_json;

template <class Value>
Json value_or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Names come from files: bytes that are not UTF-8 become the replacement character.
std::string dumped(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json stage_json(const ProposedStage& stage) {
  return {{"layers", {stage.first_layer, stage.last_layer}},
          {"replicas", stage.replicas},
          {"devices", stage.devices},
          {"time_ms", stage.time_ms},
          {"transfer_ms", value_or_null(stage.transfer_ms)},
          {"memory_bytes", value_or_null(stage.memory_bytes)},
          {"layer_names", stage.layer_names}};
}

// Layers that two neighbouring stages share, each computing a part.
Json shared_layers_json(const std::vector<ProposedStage>& stages) {
  auto shared = Json::array();
  for (std::size_t s = 0; s + 1 < stages.size(); ++s) {
    const ProposedStage &left = stages[s], &right = stages[s + 1];
    if (left.last_share >= 1 || right.first_layer != left.last_layer) continue;
    Json layer = {{"layer", left.last_layer}, {"name", nullptr}};
    if (!left.layer_names.empty()) layer["name"] = left.layer_names.back();
    layer["stages"] = {s, s + 1};
    layer["shares"] = {left.last_share, right.first_share};
    shared.push_back(std::move(layer));
  }
  return shared;
}

Json compared_json(const ComparedPlan& plan) {
  return {{"what", plan.what}, {"step_ms", value_or_null(plan.step_ms)}, {"reason", plan.reason}};
}

Json sends_json(const std::optional<ProposedCommunication>& sends) {
  if (!sends) return nullptr;
  Json json = {{"minibatches", sends->minibatches}};
  json.update(communication_json(sends->communication));
  return json;
}

std::string sends_text(const ProposedCommunication& sends) {
  return fmt::format("{} {}",
                     sends.minibatches == 1 ? std::string("a mini-batch")
                                            : fmt::format("{} mini-batches", sends.minibatches),
                     communication_text(sends.communication));
}

std::string map_text(const Proposal& proposal) {
  std::vector<std::vector<std::string>> rows = {
      {"stage", "layers", "replicas", "devices", "time", "transfer", "memory"}};
  for (std::size_t s = 0; s < proposal.stages.size(); ++s) {
    const ProposedStage& stage = proposal.stages[s];
    rows.push_back({std::to_string(s), layers_text(stage), std::to_string(stage.replicas),
                    devices_text(stage.devices), ms_text(stage.time_ms),
                    stage.transfer_ms ? ms_text(*stage.transfer_ms) : "-",
                    stage.memory_bytes ? held_text(proposal, s) : "-"});
  }
  return columns(rows);
}

std::string bottleneck_name(const Proposal& proposal) {
  const auto found = bottleneck_of(proposal);
  if (!found) return "";
  const std::size_t stage = found->stages.front();
  if (found->transfer)
    return fmt::format(": the transfer between stages {} and {}", stage, stage + 1);
  if (found->stages.size() == 1) return fmt::format(": stage {}", stage);
  return fmt::format(": device {} (stages {})", found->device, fmt::join(found->stages, ", "));
}

std::string numbers_text(const Proposal& proposal) {
  std::vector<std::vector<std::string>> rows = {
      {"schedule", fmt::format("{}, {}", proposal.schedule, microbatches_text(proposal))},
      {"bottleneck", fmt::format("{} per micro-batch{}", ms_text(proposal.bottleneck_ms),
                                 bottleneck_name(proposal))},
      {"step", fmt::format("{} per mini-batch", ms_text(proposal.step_ms))},
      {"speedup", speedup_text(proposal)}};
  if (proposal.sends) rows.push_back({"sends", sends_text(*proposal.sends)});
  return columns(rows);
}

std::string comparison_text(const std::vector<ComparedPlan>& plans) {
  std::vector<std::vector<std::string>> rows = {{"compared", "step", ""}};
  for (const ComparedPlan& plan : plans)
    rows.push_back({plan.what, plan.step_ms ? ms_text(*plan.step_ms) : "-",
                    plan.reason.empty() ? "chosen" : plan.reason});
  return columns(rows);
}

// A JSON string is a TOML string too.
std::string quoted(const std::string& text) { return dumped(Json(printable(text)), -1); }

std::string config_text(const Proposal& proposal) {
  std::vector<std::string> firsts;
  std::vector<int> replicas;
  for (const ProposedStage& stage : proposal.stages) {
    replicas.push_back(stage.replicas);
    if (!stage.layer_names.empty()) firsts.push_back(quoted(stage.layer_names.front()));
  }
  const int workers =
      proposal.workers > 0 ? proposal.workers : static_cast<int>(proposal.stages.size());
  std::string text = fmt::format(
      "[pipeline]\n{}stages = {}\nmicrobatches = {}\n",
      proposal.keys.empty() ? fmt::format("schedule = \"{}\"\n", proposal.schedule) : proposal.keys,
      workers, proposal.microbatches);
  const bool copies = proposal.workers > 0;  // the schedule itself makes them
  if (!copies && std::ranges::any_of(replicas, [](int count) { return count > 1; }))
    text += fmt::format("replicas = [{}]\n", fmt::join(replicas, ", "));
  if (firsts.size() > 1 && firsts.size() == proposal.stages.size())
    text += fmt::format("split = [{}]\n", fmt::join(firsts.begin() + 1, firsts.end(), ", "));
  std::vector<std::string> shared;
  for (const ProposedStage& stage : proposal.stages)
    if (stage.last_share < 1 && !stage.layer_names.empty() && &stage != &proposal.stages.back())
      shared.push_back(quoted(stage.layer_names.back()));
  if (!shared.empty()) text += fmt::format("shared_layers = [{}]\n", fmt::join(shared, ", "));
  return text;
}

}  // namespace

std::string replicas_text(const Proposal& proposal) {
  std::vector<int> replicas;
  for (const ProposedStage& stage : proposal.stages) replicas.push_back(stage.replicas);
  if (std::ranges::all_of(replicas, [](int count) { return count == 1; })) return "straight";
  return fmt::format("{}", fmt::join(replicas, "-"));
}

std::string slower_text(double step_ms, double chosen_ms) {
  const double times = step_ms / chosen_ms;
  if (std::abs(times - 1) < 5e-4) return "takes equal time";
  return times > 1 ? fmt::format("takes {:.3f} times as long", times)
                   : fmt::format("takes only {:.3f} of the time", times);
}

std::string proposal_json(const Proposal& proposal) {
  auto stages = Json::array(), compared = Json::array();
  for (const ProposedStage& stage : proposal.stages) stages.push_back(stage_json(stage));
  for (const ComparedPlan& plan : proposal.compared) compared.push_back(compared_json(plan));
  const Json document = {{"objective", proposal.objective},
                         {"stages", stages},
                         {"shared_layers", shared_layers_json(proposal.stages)},
                         {"schedule", proposal.schedule},
                         {"microbatches", proposal.microbatches},
                         {"minibatch_samples", value_or_null(proposal.minibatch_samples)},
                         {"step_ms", proposal.step_ms},
                         {"bottleneck_ms", proposal.bottleneck_ms},
                         {"speedup", value_or_null(proposal.speedup)},
                         {"data_parallel_speedup", value_or_null(proposal.data_parallel_speedup)},
                         {"data_parallel_devices", value_or_null(proposal.data_parallel_devices)},
                         {"communication", sends_json(proposal.sends)},
                         {"compared", compared}};
  return dumped(document, 2) + '\n';
}

std::string proposal_text(const Proposal& proposal) {
  return fmt::format("{}\n\n{}\n{}\n{}\n{}", title_text(proposal), map_text(proposal),
                     numbers_text(proposal), comparison_text(proposal.compared),
                     config_text(proposal));
}

}  // namespace pipetrain
