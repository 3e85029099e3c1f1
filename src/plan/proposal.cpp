#include "plan/proposal.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/bytes_text.hpp"
#include "base/columns.hpp"
#include "base/printable.hpp"

namespace pipetrain {
namespace {

using Json = nlohmann::ordered_json;

template <class Value>
Json value_or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Names come from files: bytes that are no UTF-8 become the replacement character.
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

Json compared_json(const ComparedPlan& plan) {
  return {{"what", plan.what}, {"step_ms", value_or_null(plan.step_ms)}, {"reason", plan.reason}};
}

// "1 device", "16 devices".
std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string ms_text(double ms) {
  return ms >= 1e4 ? fmt::format("{:.0f} ms", ms) : fmt::format("{:.4g} ms", ms);
}

std::string layers_cell(const ProposedStage& stage) {
  const int count = stage.last_layer - stage.first_layer + 1;
  const auto& names = stage.layer_names;
  if (names.empty()) return fmt::format("{} to {}", stage.first_layer, stage.last_layer);
  if (count == 1) return printable(names.front());
  return fmt::format("{} .. {} ({} layers)", printable(names.front()), printable(names.back()),
                     count);
}

// "0-3 8-11".
std::string devices_cell(const std::vector<int>& devices) {
  std::string text;
  for (std::size_t i = 0; i < devices.size();) {
    std::size_t end = i + 1;
    while (end < devices.size() && devices[end] == devices[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : " ", devices[i]);
    if (end - i > 1) text += fmt::format("-{}", devices[end - 1]);
    i = end;
  }
  return text;
}

std::string map_text(const std::vector<ProposedStage>& stages) {
  std::vector<std::vector<std::string>> rows = {
      {"stage", "layers", "replicas", "devices", "time", "transfer", "memory"}};
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const ProposedStage& stage = stages[s];
    rows.push_back(
        {std::to_string(s), layers_cell(stage), std::to_string(stage.replicas),
         devices_cell(stage.devices), ms_text(stage.time_ms),
         stage.transfer_ms ? ms_text(*stage.transfer_ms) : "-",
         stage.memory_bytes ? bytes_text(static_cast<std::size_t>(*stage.memory_bytes)) : "-"});
  }
  return columns(rows);
}

// What takes as long as the bottleneck; empty where that is no single stage or transfer.
std::string bottleneck_name(const Proposal& proposal) {
  const auto bounds = [&](double ms) { return ms >= proposal.bottleneck_ms * (1 - 1e-9); };
  for (std::size_t s = 0; s < proposal.stages.size(); ++s) {
    if (bounds(proposal.stages[s].time_ms)) return fmt::format(": stage {}", s);
    if (bounds(proposal.stages[s].transfer_ms.value_or(0)))
      return fmt::format(": the transfer between stages {} and {}", s, s + 1);
  }
  return "";
}

std::string numbers_text(const Proposal& proposal) {
  const auto microbatches = static_cast<std::size_t>(proposal.microbatches);
  return columns(
      {{"schedule", fmt::format("{}, {} {} per mini-batch", proposal.schedule, microbatches,
                                microbatches == 1 ? "micro-batch" : "micro-batches")},
       {"bottleneck", fmt::format("{} per micro-batch{}", ms_text(proposal.bottleneck_ms),
                                  bottleneck_name(proposal))},
       {"step", fmt::format("{} per mini-batch", ms_text(proposal.step_ms))},
       {"speedup", fmt::format("{:.2f} over one device; data parallel has {:.2f}", proposal.speedup,
                               proposal.data_parallel_speedup)}});
}

std::string comparison_text(const std::vector<ComparedPlan>& plans) {
  std::vector<std::vector<std::string>> rows = {{"compared", "step", ""}};
  for (const ComparedPlan& plan : plans)
    rows.push_back({plan.what, plan.step_ms ? ms_text(*plan.step_ms) : "-",
                    plan.reason.empty() ? "chosen" : plan.reason});
  return columns(rows);
}

// A JSON text is a TOML text too.
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
  const bool copies = proposal.workers > 0;  // the schedule itself has them
  if (!copies && std::ranges::any_of(replicas, [](int count) { return count > 1; }))
    text += fmt::format("replicas = [{}]\n", fmt::join(replicas, ", "));
  if (firsts.size() > 1 && firsts.size() == proposal.stages.size())
    text += fmt::format("split = [{}]\n", fmt::join(firsts.begin() + 1, firsts.end(), ", "));
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
                         {"schedule", proposal.schedule},
                         {"microbatches", proposal.microbatches},
                         {"step_ms", proposal.step_ms},
                         {"bottleneck_ms", proposal.bottleneck_ms},
                         {"speedup", proposal.speedup},
                         {"data_parallel_speedup", proposal.data_parallel_speedup},
                         {"compared", compared}};
  return dumped(document, 2) + '\n';
}

std::string proposal_text(const Proposal& proposal) {
  std::size_t devices = 0;
  for (const ProposedStage& stage : proposal.stages) devices += stage.devices.size();
  return fmt::format("{}: {} on {} ({})\n\n{}\n{}\n{}\n{}", proposal.objective,
                     counted(proposal.stages.size(), "stage"), counted(devices, "device"),
                     replicas_text(proposal), map_text(proposal.stages), numbers_text(proposal),
                     comparison_text(proposal.compared), config_text(proposal));
}

}  // namespace pipetrain
