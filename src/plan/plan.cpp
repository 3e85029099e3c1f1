#include "plan/plan.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "graph/graph.hpp"
#include "plan/cost.hpp"
#include "plan/crossing.hpp"
#include "plan/split.hpp"

namespace pipetrain {
namespace {

std::vector<int> split_auto(const Graph& graph, int stages, const BackendCosts& backend) {
  SplitCosts costs;
  costs.layers = estimated_costs(graph, backend);
  costs.exact_to = kEstimateError;
  for (int i = 0; i < std::ssize(graph.layers); ++i) {
    costs.cuts.push_back(estimated_crossing_cost(graph, backend, LayerId{i}));
    costs.tensors.push_back(static_cast<int>(values_crossing(graph, LayerId{i}).size()));
  }
  return best_split(costs, stages);
}

std::vector<int> split_uniform(const Graph& graph, int stages) {
  std::vector<int> firsts;
  for (int s = 0; s < stages; ++s)
    firsts.push_back(s * static_cast<int>(graph.layers.size()) / stages);
  return firsts;
}

std::vector<int> split_by_parameters(const Graph& graph, int stages) {
  SplitCosts costs;
  for (const Layer& layer : graph.layers)
    costs.layers.push_back(static_cast<double>(parameter_elements(layer)));
  costs.cuts.assign(costs.layers.size(), 0);
  return best_split(costs, stages);
}

// A layer's name, or the name of a block: its first layer.
int find_layer(const Graph& graph, const std::string& name) {
  for (std::size_t i = 0; i < graph.layers.size(); ++i)
    if (graph.layers[i].name == name || graph.layers[i].name.starts_with(name + "."))
      return static_cast<int>(i);
  std::vector<std::string_view> known;
  for (const Layer& layer : graph.layers) known.push_back(layer.name);
  const std::string near = suggest(name, known);
  throw UsageError(fmt::format(
      "pipeline.split: model '{}' has no layer '{}'{}", printable(graph.name), printable(name),
      near.empty() ? fmt::format("; its layers are {}", fmt::join(known, ", ")) : near));
}

std::vector<int> split_at(const Graph& graph, const std::vector<std::string>& names, int stages) {
  if (names.size() != static_cast<std::size_t>(stages - 1))
    throw UsageError(
        fmt::format("pipeline.split names {} layers, but {} stages need {}: the first layer of "
                    "stages 1 to {}; write that many, or stages = {}",
                    names.size(), stages, stages - 1, stages - 1, names.size() + 1));
  return named_cuts(graph, names);
}

std::vector<int> choose_cuts(const Graph& graph, const PipelineConfig& config,
                             const BackendCosts& backend) {
  const int stages = model_parts(config);
  switch (config.split.rule) {
    case SplitRule::Auto:
      return split_auto(graph, stages, backend);
    case SplitRule::Uniform:
      return split_uniform(graph, stages);
    case SplitRule::Parameters:
      return split_by_parameters(graph, stages);
    case SplitRule::FirstLayers:
      return split_at(graph, config.split.first_layers, stages);
  }
  PIPETRAIN_CHECK(false, "no such rule");
}

}  // namespace

std::vector<int> named_cuts(const Graph& graph, const std::vector<std::string>& names) {
  std::vector<int> firsts = {0};
  for (const std::string& name : names) {
    const int first = find_layer(graph, name);
    if (first == 0)
      throw UsageError(
          fmt::format("pipeline.split: '{}' is the model's first layer and begins "
                      "stage 0; name the first layers of the later stages",
                      name));
    if (first <= firsts.back())
      throw UsageError(
          fmt::format("pipeline.split: '{}' does not come after '{}'; name each layer "
                      "once, in the order of the model",
                      name, names[firsts.size() - 2]));
    firsts.push_back(first);
  }
  return firsts;
}

Plan plan_from_cuts(const Graph& graph, const std::vector<int>& firsts) {
  const int layers = static_cast<int>(graph.layers.size());
  PIPETRAIN_CHECK(!firsts.empty() && firsts[0] == 0, "a plan begins at layer 0");
  Plan plan;
  for (std::size_t s = 0; s < firsts.size(); ++s) {
    const int end = s + 1 < firsts.size() ? firsts[s + 1] : layers;
    PIPETRAIN_CHECK(firsts[s] < end && end <= layers, "stage {} holds layers {} to {} of {}", s,
                    firsts[s], end - 1, layers);
    StagePlan stage{.first = {firsts[s]}, .last = {end - 1}};
    for (int i = firsts[s]; i < end; ++i) {
      const Layer& layer = graph.layers[i];
      stage.parameters += owned_elements(layer);
      stage.flops += layer.flops;
      stage.activation_bytes += layer.output.elements() * static_cast<std::int64_t>(sizeof(float));
    }
    stage.received_bytes = crossing_bytes(graph, stage.first);
    stage.sent_bytes = end < layers ? crossing_bytes(graph, LayerId{end}) : 0;
    plan.stages.push_back(stage);
  }
  return plan;
}

Plan make_plan(const Graph& graph, const Config& whole, const BackendCosts& backend) {
  const PipelineConfig& config = whole.pipeline;
  const auto layers = static_cast<int>(graph.layers.size());
  if (config.stages < 1)
    throw UsageError(fmt::format("pipeline.stages is {}; write 1 or more", config.stages));
  const int parts = model_parts(config);
  if (parts > layers && parts != config.stages)
    throw UsageError(
        fmt::format("pipeline.stages is {}, which cuts the model in {} parts under {}, but model "
                    "'{}' has {} layers and every part needs one; write at most stages = {}",
                    config.stages, parts, config.schedule, printable(graph.name), layers,
                    std::max(1, layers / (parts / config.stages))));
  if (parts > layers)
    throw UsageError(
        fmt::format("pipeline.stages is {}, but model '{}' has {} layers and every "
                    "stage needs one; write at most {}",
                    config.stages, printable(graph.name), layers, layers));
  return plan_from_cuts(graph, choose_cuts(graph, config, backend));
}

StageId stage_of(const Plan& plan, LayerId layer) {
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    if (plan.stages[s].first <= layer && layer <= plan.stages[s].last)
      return StageId{static_cast<int>(s)};
  PIPETRAIN_CHECK(false, "layer {} is in no stage", layer.value);
}

std::set<StageId> tied_stages(const Graph& graph, const Plan& plan) {
  std::set<StageId> stages;
  for (const std::vector<Tie>& uses : trained_groups(graph))
    for (const Tie& use : uses) stages.insert(stage_of(plan, use.layer));
  return stages;
}

}  // namespace pipetrain
