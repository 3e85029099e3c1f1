#include "plan/cost.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "graph/graph.hpp"
#include "plan/crossing.hpp"

namespace pipetrain {
namespace {

// Weights are touched once per micro-batch, however many samples it has; 16 is usual.
constexpr double kSamples = 16;
// Read by forward and backward; gradient written and read; read and written by the update.
constexpr double kWeightPasses = 6;
// Weight, gradient and momentum read; weight and momentum written.
constexpr double kUpdatePasses = 5;

double flops_per_byte(const BackendCosts& backend) {
  return backend.compute_gflop_s / backend.memory_gb_s;
}

// Of a forward, or of one half of a backward.
double computing_cost(const Layer& layer, const BackendCosts::LayerShares& shares) {
  return static_cast<double>(layer.flops) * shares.computed;
}

double estimated_cost(const Graph& graph, const Layer& layer, bool wants_input_gradient,
                      const BackendCosts::LayerShares& shares, double flops_per_byte) {
  const auto weights = static_cast<double>(parameter_elements(layer));
  // Backward makes a pass for the gradient of the weights, and one for that of the input.
  const int passes = 1 + (layer.trains() ? 1 : 0) + (wants_input_gradient ? 1 : 0);
  auto activations = static_cast<double>(layer.output.elements());
  for (const ValueId input : layer.inputs)
    activations += static_cast<double>(graph.shape(input).elements());
  // Forward moves each activation once; backward moves it and its gradient.
  const double elements = 3 * activations + kWeightPasses * weights / kSamples;
  return passes * computing_cost(layer, shares) +
         elements * sizeof(float) * flops_per_byte * shares.moved;
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

std::vector<double> estimated_costs(const Graph& graph, const BackendCosts& backend) {
  PIPETRAIN_CHECK(backend.layers.size() == graph.layers.size(), "costs of {} layers, not of {}",
                  backend.layers.size(), graph.layers.size());
  const Indexed<bool, ValueId> trained = trained_values(graph);
  const auto is_trained = [&](ValueId value) { return trained[value]; };
  std::vector<double> costs;
  for (std::size_t l = 0; l < graph.layers.size(); ++l)
    costs.push_back(estimated_cost(graph, graph.layers[l],
                                   std::ranges::any_of(graph.layers[l].inputs, is_trained),
                                   backend.layers[l], flops_per_byte(backend)));
  return costs;
}

std::vector<double> estimated_weight_halves(const Graph& graph, const BackendCosts& backend) {
  std::vector<double> halves;
  for (std::size_t l = 0; l < graph.layers.size(); ++l)
    halves.push_back(graph.layers[l].trains()
                         ? std::max(1.0, computing_cost(graph.layers[l], backend.layers[l]))
                         : 0);
  return halves;
}

std::vector<double> estimated_updates(const Graph& graph, const BackendCosts& backend) {
  std::vector<double> updates;
  for (const Layer& layer : graph.layers)
    updates.push_back(layer.trains() ? kUpdatePasses * static_cast<double>(owned_elements(layer)) *
                                           sizeof(float) * flops_per_byte(backend)
                                     : 0);
  return updates;
}

// The sender writes the values at that speed, and the receiver their gradients.
double estimated_crossing_cost(const Graph& graph, const BackendCosts& backend,
                               LayerId first_of_next_stage) {
  return static_cast<double>(crossing_bytes(graph, first_of_next_stage)) *
         (backend.compute_gflop_s / backend.crossing_gb_s);
}

}  // namespace pipetrain
