// What is trained: layers in topological order, with every shape, parameter and buffer worked out.
// A Graph is a value without weights: nothing here allocates tensors or knows a backend.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/indexed.hpp"
#include "graph/layer.hpp"
#include "graph/loss.hpp"
#include "graph/shape.hpp"

namespace pipetrain {

struct Graph {
  std::string name;
  Shape input;
  // For an input of two sides: how many of its last tokens are the target's. 0: one side.
  std::int64_t target_tokens = 0;
  Indexed<Layer, LayerId> layers;  // topological order; the output of the last one goes to the loss
  Loss loss = Loss::CrossEntropy;
  double label_smoothing = 0;  // of cross_entropy, as in PyTorch: this share of each label is
                               // spread over all classes

  // The shape of a value: 0 is the input, i + 1 the output of layer i.
  const Shape& shape(ValueId value) const;
  static ValueId output_of(LayerId layer) { return ValueId{layer.value + 1}; }
  // The layers that read a value, in topological order.
  std::vector<LayerId> consumers(ValueId value) const;
  std::int64_t parameter_count() const;  // a parameter of several layers counts once
  const Parameter& parameter(const Tie& at) const;
  // The parameter itself, or the one that it is tied to.
  const Parameter& owner(const Parameter& parameter) const;
};

// The uses of each parameter that several layers use, in the order of the layers, the owner first.
std::vector<std::vector<Tie>> tied_groups(const Graph& graph);

// The same for parameters that are trained.
std::vector<std::vector<Tie>> trained_groups(const Graph& graph);

// For each value: are there trained parameters before it? Only such values need gradients.
Indexed<bool, ValueId> trained_values(const Graph& graph);

}  // namespace pipetrain
