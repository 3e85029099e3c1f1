#include "stage/stage_tensors.hpp"

#include <algorithm>

#include "graph/graph.hpp"
#include "graph/traits.hpp"

namespace pipetrain {
namespace {

// The tensor of this name, added with its shape and ready to be written to.
float* add(NamedTensors& tensors, const std::string& name, const Shape& shape) {
  NamedTensor& tensor = tensors[name];
  tensor = {shape, std::vector<float>(static_cast<std::size_t>(shape.elements()))};
  return floats(tensors, name).data();
}

}  // namespace

void take_parameters(Stage& stage, NamedTensors& tensors, Tied tied) {
  for (int l = 0; l < stage.layers(); ++l) {
    const Layer& layer = stage.layer(l);
    for (std::size_t p = 0; p < layer.parameters.size(); ++p)
      if (tied == Tied::EachUse || !layer.parameters[p].tied)
        stage.get_parameter(l, static_cast<int>(p),
                            add(tensors, layer.parameters[p].name, layer.parameters[p].shape));
    for (std::size_t b = 0; b < layer.buffers.size(); ++b)
      stage.get_buffer(l, static_cast<int>(b),
                       add(tensors, layer.buffers[b].name, layer.buffers[b].shape));
    if (traits_of(layer.spec).counts_minibatches)
      tensors[batches_tracked_name(layer)] = {Shape{},
                                              std::vector<std::int64_t>{stage.batches_tracked()}};
  }
}

void put_parameters(Stage& stage, const NamedTensors& tensors) {
  for (int l = 0; l < stage.layers(); ++l) {
    const Layer& layer = stage.layer(l);
    for (std::size_t p = 0; p < layer.parameters.size(); ++p)
      stage.set_parameter(l, static_cast<int>(p),
                          floats(tensors, stage.graph().owner(layer.parameters[p]).name).data());
    for (std::size_t b = 0; b < layer.buffers.size(); ++b)
      stage.set_buffer(l, static_cast<int>(b), floats(tensors, layer.buffers[b].name).data());
    if (traits_of(layer.spec).counts_minibatches)
      stage.set_batches_tracked(count(tensors, batches_tracked_name(layer)));
  }
  stage.finish_loading();
}

void take_moments(const Stage& stage, const OptimizerConfig& optimizer, NamedTensors& tensors) {
  const auto moments = moment_names(optimizer);
  for (int l = 0; l < stage.layers(); ++l)
    for (std::size_t p = 0; p < stage.layer(l).parameters.size(); ++p) {
      const Parameter& parameter = stage.layer(l).parameters[p];
      if (!parameter.trained) continue;
      for (std::size_t m = 0; m < moments.size() && !parameter.tied; ++m)
        stage.get_moment(l, static_cast<int>(p), static_cast<int>(m),
                         add(tensors, moment_name(parameter.name, moments[m]), parameter.shape));
    }
}

void take_delta(const Stage& stage, NamedTensors& tensors) {
  for (int l = 0; l < stage.layers(); ++l)
    for (std::size_t p = 0; p < stage.layer(l).parameters.size(); ++p) {
      const Parameter& parameter = stage.layer(l).parameters[p];
      if (!parameter.trained) continue;
      stage.get_delta(l, static_cast<int>(p),
                      add(tensors, moment_name(parameter.name, delta_name), parameter.shape));
    }
}

void put_delta(Stage& stage, const NamedTensors& tensors) {
  for (int l = 0; l < stage.layers(); ++l)
    for (std::size_t p = 0; p < stage.layer(l).parameters.size(); ++p) {
      const Parameter& parameter = stage.layer(l).parameters[p];
      if (!parameter.trained) continue;
      stage.set_delta(l, static_cast<int>(p),
                      floats(tensors, moment_name(parameter.name, delta_name)).data());
    }
}

void put_moments(Stage& stage, const OptimizerConfig& optimizer, const NamedTensors& tensors) {
  const auto moments = moment_names(optimizer);
  for (int l = 0; l < stage.layers(); ++l)
    for (std::size_t p = 0; p < stage.layer(l).parameters.size(); ++p) {
      const Parameter& parameter = stage.layer(l).parameters[p];
      if (!parameter.trained) continue;
      const std::string& owner = stage.graph().owner(parameter).name;
      for (std::size_t m = 0; m < moments.size(); ++m)
        stage.set_moment(l, static_cast<int>(p), static_cast<int>(m),
                         floats(tensors, moment_name(owner, moments[m])).data());
    }
}

}  // namespace pipetrain
