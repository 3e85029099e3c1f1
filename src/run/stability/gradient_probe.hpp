// The gradient of a training's loss at weights of the caller's choice, always for the same
// mini-batch: by a pipeline of one stage beside the one that trains.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "run/session.hpp"

namespace pipetrain {

struct Graph;

// The values of all of them form one sequence; a parameter that layers share appears once. Those
// with a learning rate of 0 are left out.
struct TrainedParameter {
  std::string name;
  std::vector<std::string> others;  // names of the same parameter in the other layers that use it
  LayerId layer;
  std::size_t begin = 0, end = 0;  // of its values, in that sequence
  double lr_factor = 1;
};
std::vector<TrainedParameter> trained_parameters(const Graph& graph);

struct GradientProbeInput {  // everything must outlive the probe
  const Graph& graph;
  const Config& config;
  Backend& backend;
  const Dataset& train;
  const MinibatchSizes& sizes;  // of the training
  std::int64_t steps_per_epoch = 1;
};

// In f32, whatever the training's precision. Takes the memory of the model on one stage, and that
// stage's threads while it computes. Threading: one thread.
class GradientProbe {
 public:
  // `parameters`: including buffers, as from Pipeline::parameters(). `step`: the mini-batch, from
  // 0.
  GradientProbe(const GradientProbeInput& input, NamedTensors parameters, std::int64_t step);

  std::size_t size() const;       // of all trained parameters
  double weights_length() const;  // the root of the sum of their squares
  const std::vector<TrainedParameter>& parameters() const { return parameters_; }

  // The gradient of the mean loss at the weights plus `moved`; nothing if it is not finite.
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
