// A model that only computes: runs one sample through the whole graph, on the calling thread. For
// `generate`.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "checkpoint/parameters.hpp"
#include "config/config.hpp"
#include "stage/stage.hpp"

namespace pipetrain {

struct Graph;

struct ForwardPassInput {  // graph and backend must outlive the pass
  const Graph& graph;
  Backend& backend;
  const Config& config;  // for its precision and kernel threads
};

// Threading: one thread, for which the constructor sets the number of kernel threads.
class ForwardPass {
 public:
  ForwardPass(const ForwardPassInput& input, const NamedTensors& parameters);

  // The model's output for one sample of tokens [T], plain row-major; valid until the next call.
  std::span<const float> run(std::span<const std::int32_t> tokens);

 private:
  LoweredModel model_;
  Stage stage_;
  std::vector<float> output_;
};

}  // namespace pipetrain
