#include "graph/lengths.hpp"

#include <spdlog/fmt/fmt.h>

#include "base/check.hpp"
#include "base/error.hpp"
#include "graph/graph.hpp"
#include "graph/shapes.hpp"
#include "graph/traits.hpp"

namespace pipetrain {
namespace {

std::vector<Shape> inputs_of(const Graph& graph, const Layer& layer) {
  std::vector<Shape> shapes;
  for (const ValueId input : layer.inputs) shapes.push_back(graph.shape(input));
  return shapes;
}

// Parameters are those of the longest sequences: one with a row for each position has rows to
// spare.
void check_parameters(const Layer& layer, const LayerFacts& facts) {
  PIPETRAIN_CHECK(facts.parameters.size() == layer.parameters.size(),
                  "layer {} has other parameters at other lengths", layer.name);
  if (traits_of(layer.spec).has_rows_by_position) return;
  for (std::size_t p = 0; p < facts.parameters.size(); ++p)
    PIPETRAIN_CHECK(facts.parameters[p].shape == layer.parameters[p].shape,
                    "{} has another shape at other lengths", layer.parameters[p].name);
}

void reshape(const Graph& graph, Layer& layer) {
  const std::vector<Shape> inputs = inputs_of(graph, layer);
  auto result = shape_rule(layer.spec, inputs);
  if (const auto* misfit = std::get_if<Misfit>(&result))
    throw UsageError(fmt::format("{} '{}' cannot read sentences of {} and {} tokens: {}",
                                 kind_name(layer.spec), layer.name, lengths_of(graph).source,
                                 lengths_of(graph).target, misfit->why));
  const auto& facts = std::get<LayerFacts>(result);
  check_parameters(layer, facts);
  layer.output = facts.output;
  layer.flops = facts.flops;
}

}  // namespace

Lengths lengths_of(const Graph& graph) {
  if (graph.target_tokens == 0) return {};
  return {graph.input.dims[0] - graph.target_tokens, graph.target_tokens};
}

Graph with_lengths(const Graph& graph, Lengths lengths) {
  const Lengths own = lengths_of(graph);
  if (lengths == Lengths{} || lengths == own) return graph;
  PIPETRAIN_CHECK(lengths.source > 0 && lengths.source <= own.source && lengths.target > 0 &&
                      lengths.target <= own.target,
                  "lengths {} and {} of a model of {} and {}", lengths.source, lengths.target,
                  own.source, own.target);
  Graph other = graph;
  other.input.dims = {lengths.source + lengths.target};
  other.target_tokens = lengths.target;
  // The two sides come first (graph/build.cpp).
  other.layers[0].spec = Narrow{0, lengths.source};
  other.layers[1].spec = Narrow{lengths.source, lengths.target};
  for (Layer& layer : other.layers) reshape(other, layer);
  return other;
}

}  // namespace pipetrain
