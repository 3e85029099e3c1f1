// A plan for people (a table) and for tools (plan.json).
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "graph/graph.hpp"
#include "plan/crossing.hpp"
#include "plan/plan.hpp"

namespace pipetrain {
namespace {

const Layer& layer_at(const Graph& graph, int index) { return graph.layers[index]; }

std::string value_name(const Graph& graph, ValueId value) {
  return value.value == 0 ? "input" : layer_at(graph, value.value - 1).name;
}

std::vector<std::string> layer_names(const Graph& graph, const StagePlan& stage) {
  std::vector<std::string> names;
  for (int i = stage.first.value; i <= stage.last.value; ++i)
    names.push_back(layer_at(graph, i).name);
  return names;
}

// What the stage sends to the next one; nothing for the last stage.
std::vector<ValueId> values_sent(const Graph& graph, const StagePlan& stage) {
  const int end = stage.last.value + 1;
  if (end == static_cast<int>(graph.layers.size())) return {};
  return values_crossing(graph, LayerId{end});
}

std::string layers_text(const Graph& graph, const StagePlan& stage) {
  constexpr std::size_t kWidest = 40;
  const std::vector<std::string> names = layer_names(graph, stage);
  const std::string all = fmt::format("{}", fmt::join(names, " "));
  if (all.size() <= kWidest || names.size() <= 2) return all;
  return fmt::format("{} .. {} ({} layers)", names.front(), names.back(), names.size());
}

std::string sent_text(const Graph& graph, const StagePlan& stage) {
  std::vector<std::string> words;
  for (const ValueId value : values_sent(graph, stage))
    words.push_back(fmt::format("{} {}", value_name(graph, value), graph.shape(value).text()));
  return words.empty() ? "(to the loss)" : fmt::format("{}", fmt::join(words, ", "));
}

using PlanRow = std::array<std::string, 6>;

// Columns as wide as their widest cell, two spaces apart; names aligned left, numbers right.
std::string aligned(const std::vector<PlanRow>& rows) {
  std::array<std::size_t, 6> widths{};
  for (const PlanRow& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string text;
  for (const PlanRow& row : rows)
    text += fmt::format("{:>{}}  {:<{}}  {:>{}}  {:>{}}  {:>{}}  {}\n", row[0], widths[0], row[1],
                        widths[1], row[2], widths[2], row[3], widths[3], row[4], widths[4], row[5]);
  return text;
}

double mega(std::int64_t count) { return static_cast<double>(count) / 1e6; }

}  // namespace

nlohmann::json plan_json(const Graph& graph, const Plan& plan) {
  auto stages = nlohmann::json::array();
  for (const StagePlan& stage : plan.stages) {
    auto sends = nlohmann::json::array();
    for (const ValueId value : values_sent(graph, stage))
      sends.push_back({{"value", value_name(graph, value)}, {"shape", graph.shape(value).dims}});
    const std::vector<std::string> names = layer_names(graph, stage);
    stages.push_back({{"layers", {names.front(), names.back()}},
                      {"layer_names", names},
                      {"parameters", stage.parameters},
                      {"flops", stage.flops},
                      {"activation_bytes", stage.activation_bytes},
                      {"received_bytes", stage.received_bytes},
                      {"sent_bytes", stage.sent_bytes},
                      {"sends", sends}});
  }
  return {{"model", graph.name}, {"parameters", graph.parameter_count()}, {"stages", stages}};
}

std::string plan_text(const Graph& graph, const Plan& plan) {
  std::vector<PlanRow> rows = {{"stage", "layers", "parameters", "MFLOP", "bytes sent", "sends"}};
  StagePlan total;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const StagePlan& stage = plan.stages[s];
    rows.push_back({std::to_string(s), layers_text(graph, stage), std::to_string(stage.parameters),
                    fmt::format("{:.3f}", mega(stage.flops)), std::to_string(stage.sent_bytes),
                    sent_text(graph, stage)});
    total.parameters += stage.parameters;
    total.flops += stage.flops;
    total.sent_bytes += stage.sent_bytes;
  }
  rows.push_back({"all", fmt::format("{} layers", graph.layers.size()),
                  std::to_string(total.parameters), fmt::format("{:.3f}", mega(total.flops)),
                  std::to_string(total.sent_bytes), "(per sample, forward, f32, without padding)"});
  return aligned(rows);
}

}  // namespace pipetrain
