#include "plan/cost.hpp"

#include <algorithm>

#include "graph/minimal_filtering.hpp"
#include "plan/crossing.hpp"

namespace pipetrain {
namespace {

// A core with wide vectors does a few hundred GFLOP/s and moves some ten GB/s.
constexpr double kFlopsPerByte = 16;
// Over a cut a packet is handed over, not copied; but lines that another core has touched are
// written at some 8 GB/s. The sender writes the values so, the receiver their gradients.
constexpr double kFlopsPerCrossingByte = 32;
// Weights are touched once a micro-batch, however many samples it has; a usual size.
constexpr double kSamples = 16;
// Read by forward and backward, gradient read and written, read and written by the update.
constexpr double kWeightPasses = 6;

// Layers that a backend does without touching memory: another view of the same bytes, or a ReLU
// that the layer before it applies as it writes and takes back as it reads.
bool is_free(const Graph& graph, const Layer& layer) {
  if (std::holds_alternative<Flatten>(layer.spec) || std::holds_alternative<Identity>(layer.spec))
    return true;
  if (!std::holds_alternative<Relu>(layer.spec) || layer.inputs[0].value == 0) return false;
  const LayerSpec& before = graph.layers[static_cast<std::size_t>(layer.inputs[0].value - 1)].spec;
  return (std::holds_alternative<Conv2d>(before) || std::holds_alternative<Linear>(before) ||
          std::holds_alternative<BatchNorm>(before)) &&
         graph.consumers(layer.inputs[0]).size() == 1;
}

// By minimal filtering a convolution takes four ninths of the products; transforms make it half of
// the time.
double computed_flops(const Graph& graph, const Layer& layer, Convolving convolving) {
  const auto direct = static_cast<double>(layer.flops);
  const auto* conv = std::get_if<Conv2d>(&layer.spec);
  const bool filtered =
      conv && convolving == Convolving::Filtered &&
      suits_minimal_filtering(*conv, graph.shape(layer.inputs[0]).dims[0], layer.output);
  return filtered ? direct / 2 : direct;
}

double estimated_cost(const Graph& graph, const Layer& layer, bool wants_input_gradient,
                      Convolving convolving) {
  if (is_free(graph, layer)) return 0;
  const auto weights = static_cast<double>(parameter_elements(layer));
  // Backward is a pass for the gradient of the weights, and one for that of the input.
  const int passes = 1 + (weights > 0 ? 1 : 0) + (wants_input_gradient ? 1 : 0);
  auto activations = static_cast<double>(layer.output.elements());
  for (const ValueId input : layer.inputs)
    activations += static_cast<double>(graph.shape(input).elements());
  // Forward moves each activation once, backward it and its gradient.
  const double elements = 3 * activations + kWeightPasses * weights / kSamples;
  return passes * computed_flops(graph, layer, convolving) +
         elements * sizeof(float) * kFlopsPerByte;
}

}  // namespace

std::int64_t parameter_elements(const Layer& layer) {
  std::int64_t elements = 0;
  for (const Parameter& parameter : layer.parameters) elements += parameter.shape.elements();
  return elements;
}

std::int64_t owned_elements(const Layer& layer) {
  std::int64_t elements = 0;
  for (const Parameter& parameter : layer.parameters)
    if (!parameter.tied) elements += parameter.shape.elements();
  return elements;
}

std::vector<double> estimated_costs(const Graph& graph, Convolving convolving) {
  const std::vector<bool> trained = trained_values(graph);
  const auto is_trained = [&](ValueId value) {
    return trained[static_cast<std::size_t>(value.value)];
  };
  std::vector<double> costs;
  for (const Layer& layer : graph.layers)
    costs.push_back(
        estimated_cost(graph, layer, std::ranges::any_of(layer.inputs, is_trained), convolving));
  return costs;
}

double estimated_crossing_cost(const Graph& graph, LayerId first_of_next_stage) {
  return static_cast<double>(crossing_bytes(graph, first_of_next_stage)) * kFlopsPerCrossingByte;
}

}  // namespace pipetrain
