// Graphs and random data for them.
#include <cmath>
#include <utility>

#include "base/rng.hpp"
#include "harness.hpp"

namespace pipetrain::testing {
namespace {

// ---- graphs

std::vector<Parameter> parameters_of(const Node& node, const Shape& input) {
  const auto two = [&](Shape weight, std::int64_t bias, bool has_bias) {
    std::vector<Parameter> result = {{node.name + ".weight", std::move(weight), Constant{0}}};
    if (has_bias) result.push_back({node.name + ".bias", Shape{{bias}}, Constant{0}});
    return result;
  };
  if (const auto* linear = std::get_if<Linear>(&node.spec))
    return two(Shape{{linear->out_features, input.dims.back()}}, linear->out_features,
               linear->bias);
  if (const auto* conv = std::get_if<Conv2d>(&node.spec))
    return two(
        Shape{{conv->out_channels, input.dims[0] / conv->groups, conv->kernel[0], conv->kernel[1]}},
        conv->out_channels, conv->bias);
  if (std::holds_alternative<BatchNorm>(node.spec))
    return two(Shape{{input.dims[0]}}, input.dims[0], true);
  return {};
}

std::vector<Buffer> buffers_of(const Node& node, const Shape& input) {
  if (!std::holds_alternative<BatchNorm>(node.spec)) return {};
  const Shape channels{{input.dims[0]}};
  return {{node.name + ".running_mean", channels, 0}, {node.name + ".running_var", channels, 1}};
}

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

Microbatch make_microbatch(const Graph& graph, int samples, int index, Random& random) {
  Microbatch microbatch;
  const Shape& output = graph.layers.back().output;
  microbatch.input = distinct_values(random, samples * graph.input.elements());
  microbatch.random = {7, 3, static_cast<std::uint64_t>(index)};
  if (graph.loss == Loss::Mse)
    microbatch.values = normal_values(random, samples * output.elements());
  for (int i = 0; graph.loss == Loss::CrossEntropy && i < samples; ++i)
    microbatch.classes.push_back(
        static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(output.elements()))));
  return microbatch;
}

}  // namespace

Graph make_graph(std::vector<std::int64_t> input, const std::vector<Node>& nodes, Loss loss) {
  Graph graph;
  graph.name = "test";
  graph.input = Shape{std::move(input)};
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
    const Shape from = graph.shape(layer.inputs[0]);
    layer.parameters = parameters_of(node, from);
    layer.buffers = buffers_of(node, from);
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
