#include "compile/recomputed_layers.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "compile/segment_program.hpp"
#include "graph/graph.hpp"
#include "program/passes.hpp"

namespace pipetrain {
namespace {

std::vector<std::string_view> kinds_in(const Graph& graph) {
  std::vector<std::string_view> kinds;
  for (const Layer& layer : graph.layers)
    if (std::ranges::find(kinds, kind_name(layer.spec)) == kinds.end())
      kinds.push_back(kind_name(layer.spec));
  return kinds;
}

void require_kinds(const std::vector<std::string>& kinds, const Graph& graph) {
  const std::vector<std::string_view> known = kinds_in(graph);
  for (const std::string& kind : kinds)
    if (std::ranges::find(known, kind) == known.end())
      throw UsageError(fmt::format(
          "pipeline.recompute: the model has no layer of kind '{}'; its kinds are: {}{}",
          printable(kind), fmt::join(known, ", "), suggest(kind, known)));
}

}  // namespace

Indexed<bool, LayerId> recomputed_layers(const PipelineConfig& pipeline, const Graph& graph,
                                         const Program& program) {
  Indexed<bool, LayerId> chosen(graph.layers.size(), false);
  if (pipeline.recompute.rule != Recompute::Kinds) return chosen;
  const std::vector<std::string>& kinds = pipeline.recompute.kinds;
  require_kinds(kinds, graph);
  if (splits_backward(program))
    throw UsageError(fmt::format(
        "pipeline.recompute: under {} backwards run in halves, which would both need what is "
        "recomputed; write recompute = \"none\", or a schedule with whole backwards, such as "
        "\"1f1b\"",
        schedule_name(pipeline)));
  const bool other_weights =
      pipeline.gradient_rule == GradientRule::Saved && !rereads_forward_versions(program);
  for (LayerId l{0}; l.value < std::ssize(graph.layers); ++l.value) {
    const Layer& layer = graph.layers[l];
    chosen[l] = std::ranges::find(kinds, kind_name(layer.spec)) != kinds.end();
    if (chosen[l] && other_weights && !layer.parameters.empty())
      throw UsageError(fmt::format(
          "pipeline.recompute: under {} a backward reads other weights than its forward did, so "
          "that layer {} ({}) would not give the same output again; name kinds without parameters, "
          "or write gradient_rule = \"recompute\"",
          schedule_name(pipeline), layer.name, kind_name(layer.spec)));
  }
  return chosen;
}

}  // namespace pipetrain
