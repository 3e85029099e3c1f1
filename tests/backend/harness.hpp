// Runs a small graph on a backend, the way a worker would: lower once, several micro-batches in
// flight, forwards first, then both backward halves. All data goes in and comes out in plain
// layout.
//
// It is strict where the contract is: what a kernel says it does not read is null, outputs and
// scratch start as NaN, and each value has one gradient that the readers' shares are added to.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.hpp"
#include "graph/graph.hpp"

namespace pipetrain::testing {

using Floats = std::vector<float>;
using Named = std::map<std::string, Floats>;

// ---- graphs by hand
struct Node {
  std::string name;
  LayerSpec spec;
  std::vector<std::int64_t> output;
  std::vector<std::string> inputs = {};  // empty: the node before; "input" is the graph's input
};
Graph make_graph(Shape input, const std::vector<Node>& nodes, Loss loss = Loss::Mse);
inline Graph make_graph(std::vector<std::int64_t> input, const std::vector<Node>& nodes,
                        Loss loss = Loss::Mse) {
  return make_graph(Shape{std::move(input)}, nodes, loss);
}

// ---- what goes in
struct Weighting {
  Named parameters, buffers;  // by full name: "conv1.weight"
};
struct Microbatch {
  Floats input;
  Floats values;                      // mse
  std::vector<std::int32_t> classes;  // cross_entropy: one for each row of outputs
  RandomKey random;
  std::vector<std::int32_t> tokens = {};  // instead of input, if that has a vocabulary
};
struct Task {
  Graph graph;
  int samples = 1;
  int lowered_samples = 0;  // what the graph is lowered for; 0: the same
  Mode mode = Mode::Train;
  Precision precision = Precision::F32;
  // Rounds every activation and gradient to bf16 as it is made: the definition of bf16 for a host
  // backend whose stored layout is plain f32.
  bool rounds_values = false;
  Weighting weighting;
  std::vector<Microbatch> microbatches;
  double loss_scale = 1;
};
// Random weights, inputs and targets. Inputs keep a distance from each other and from 0, so that
// small steps cross no kink of a first max_pool or relu.
Task make_task(const Graph& graph, int samples, Mode mode, int microbatches = 1,
               std::uint64_t seed = 1);

// ---- what comes out
struct MicrobatchOutcome {
  Floats output;
  LossResult loss;
  Floats output_gradient, input_gradient;  // no input_gradient for tokens
};
struct Outcome {
  std::vector<MicrobatchOutcome> microbatches;
  Named gradients;                        // summed over micro-batches
  std::map<std::string, double> squares;  // sum_of_squares of each gradient as it is stored
  Named buffers;
};
Outcome run(Backend& backend, const Task& task);

// Between -1 and 1; the same seed gives the same values.
inline Floats some_floats(std::size_t count, std::size_t seed) {
  Floats values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>((i + seed) * 29 % 17) / 8 - 1);
  return values;
}

// max|a - b| / max|b|, or max|a| if b is 0 everywhere; infinite if the sizes differ or there is a
// NaN.
double difference(const Floats& a, const Floats& b);

}  // namespace pipetrain::testing
