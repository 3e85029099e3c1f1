// Graphs and random data for them.
#include <cmath>
#include <utility>

#include "base/rng.hpp"
#include "graph/graph.hpp"
#include "graph/shapes.hpp"
#include "harness.hpp"

namespace pipetrain::testing {
namespace {

// ---- random data

Floats normal_values(Random& random, std::int64_t count, double scale = 1) {
  Floats values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(scale * random.normal());
  return values;
}

// Evenly spaced in (-1, 1), shuffled.
Floats distinct_values(Random& random, std::int64_t count) {
  Floats values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    values[static_cast<std::size_t>(i)] =
        static_cast<float>(2 * i + 1 - count) / static_cast<float>(count);
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
  return values;
}

std::vector<std::int32_t> below(Random& random, std::int64_t end, std::int64_t count) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(count));
  for (std::int32_t& value : values)
    value = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(end)));
  return values;
}

Microbatch make_microbatch(const Graph& graph, int samples, int index, Random& random) {
  Microbatch microbatch;
  const Shape& output = graph.layers.back().output;
  const std::int64_t inputs = samples * graph.input.elements();
  if (graph.input.vocabulary > 0)
    microbatch.tokens = below(random, graph.input.vocabulary, inputs);
  else
    microbatch.input = distinct_values(random, inputs);
  microbatch.random = {7, 3, static_cast<std::uint64_t>(index)};
  if (graph.loss == Loss::Mse)
    microbatch.values = normal_values(random, samples * output.elements());
  else
    microbatch.classes =
        below(random, output.dims.back(), samples * output.elements() / output.dims.back());
  return microbatch;
}

}  // namespace

Graph make_graph(Shape input, const std::vector<Node>& nodes, Loss loss) {
  Graph graph;
  graph.name = "test";
  graph.input = std::move(input);
  graph.loss = loss;
  std::map<std::string, ValueId> values = {{"input", ValueId{0}}};
  ValueId last{0};
  for (const Node& node : nodes) {
    Layer layer{.name = node.name,
                .spec = node.spec,
                .inputs = {},
                .output = Shape{node.output},
                .parameters = {},
                .buffers = {}};
    for (const std::string& name : node.inputs) layer.inputs.push_back(values.at(name));
    if (layer.inputs.empty()) layer.inputs.push_back(last);
    std::vector<Shape> from;
    for (const ValueId value : layer.inputs) from.push_back(graph.shape(value));
    const auto facts = std::get<LayerFacts>(shape_rule(node.spec, from));
    layer.parameters = facts.parameters;
    layer.buffers = facts.buffers;
    for (Parameter& parameter : layer.parameters) parameter.name = node.name + "." + parameter.name;
    for (Buffer& buffer : layer.buffers) buffer.name = node.name + "." + buffer.name;
    if (layer.output.dims == facts.output.dims) layer.output = facts.output;
    graph.layers.push_back(std::move(layer));
    last = ValueId{static_cast<int>(graph.layers.size())};
    values[node.name] = last;
  }
  return graph;
}

Task make_task(const Graph& graph, int samples, Mode mode, int microbatches, std::uint64_t seed) {
  Random random(seed, "harness");
  Task task{.graph = graph,
            .samples = samples,
            .lowered_samples = 0,
            .mode = mode,
            .precision = Precision::F32,
            .rounds_values = false,
            .weighting = {},
            .microbatches = {}};
  for (const Layer& layer : graph.layers) {
    for (const Parameter& parameter : layer.parameters) {
      const std::int64_t count = parameter.shape.elements();
      const auto fan_in = static_cast<double>(count / parameter.shape.dims[0]);
      task.weighting.parameters[parameter.name] =
          normal_values(random, count, 1 / std::sqrt(fan_in));
    }
    for (const Buffer& buffer : layer.buffers) {
      Floats values = normal_values(random, buffer.shape.elements());
      if (buffer.initial == 1)  // a variance
        for (float& value : values) value = 0.5f + std::fabs(value);
      task.weighting.buffers[buffer.name] = std::move(values);
    }
  }
  for (int m = 0; m < microbatches; ++m)
    task.microbatches.push_back(make_microbatch(graph, samples, m, random));
  return task;
}

}  // namespace pipetrain::testing
