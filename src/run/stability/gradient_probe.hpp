// The gradient of a training's loss at weights of the caller's choice, for the same mini-batch
// again and again: by a pipeline of one stage beside the one that trains.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "run/session.hpp"

namespace pipetrain {

struct Graph;

// Their values are one after the other; what layers share is there once. Without those whose
// learning rate is 0.
struct TrainedParameter {
  std::string name;
  std::vector<std::string> others;  // of the layers that use it too
  LayerId layer;
  std::size_t begin = 0, end = 0;  // of its values
  double lr_factor = 1;
};
std::vector<TrainedParameter> trained_parameters(const Graph& graph);

struct GradientProbeInput {  // everything outlives the probe
  const Graph& graph;
  const Config& config;
  Backend& backend;
  const Dataset& train;
  const MinibatchSizes& sizes;  // of the training
  std::int64_t steps_per_epoch = 1;
};

// In f32, whatever the training's precision. Takes the memory of that model on one stage, and its
// threads while it computes. Threading: one thread.
class GradientProbe {
 public:
  // `parameters`: with buffers, as Pipeline::parameters() has them. `step`: the mini-batch, from 0.
  GradientProbe(const GradientProbeInput& input, NamedTensors parameters, std::int64_t step);

  std::size_t size() const;       // of all trained parameters
  double weights_length() const;  // the root of the sum of their squares
  const std::vector<TrainedParameter>& parameters() const { return parameters_; }

  // Of the mean loss, at the weights plus `moved`; nothing where it is not finite.
  std::optional<std::vector<float>> gradient_at(const std::vector<double>& moved);

 private:
  NamedTensors moved_tensors(const std::vector<double>& moved) const;

  const GradientProbeInput in_;
  const Config config_;
  const Plan plan_;
  const NamedTensors values_;
  const std::int64_t step_;
  const std::vector<TrainedParameter> parameters_;
  Pipeline pipeline_;
};

}  // namespace pipetrain
