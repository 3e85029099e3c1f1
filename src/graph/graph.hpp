// What is trained: layers in topological order, with every shape, parameter and buffer worked out.
// A Graph is a value without weights: nothing here allocates tensors or knows a backend.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.hpp"

namespace pipetrain {

// Dimensions without the batch: [C, H, W] of an image, [features] of a vector.
struct Shape {
  std::vector<std::int64_t> dims;
  std::int64_t elements() const;
  std::string text() const;  // "[6, 28, 28]"
  bool operator==(const Shape&) const = default;
};

using Pair = std::array<std::int64_t, 2>;  // height, width

// ---- what a layer computes; sizes that follow from its input are worked out, not stored
struct Linear {
  std::int64_t out_features = 0;
  bool bias = true;
  bool operator==(const Linear&) const = default;
};
struct Conv2d {
  std::int64_t out_channels = 0;
  Pair kernel{}, stride{1, 1}, padding{0, 0};
  std::int64_t groups = 1;
  bool bias = true;
  bool operator==(const Conv2d&) const = default;
};
struct BatchNorm {
  double eps = 1e-5, momentum = 0.1;
  bool operator==(const BatchNorm&) const = default;
};
struct Relu {
  bool operator==(const Relu&) const = default;
};
struct MaxPool {
  Pair kernel{}, stride{}, padding{0, 0};
  bool operator==(const MaxPool&) const = default;
};
struct AvgPool {  // padding counts as zeros (count_include_pad, PyTorch's default)
  Pair kernel{}, stride{}, padding{0, 0};
  bool operator==(const AvgPool&) const = default;
};
struct GlobalAvgPool {
  bool operator==(const GlobalAvgPool&) const = default;
};  // [C, H, W] -> [C, 1, 1], as AdaptiveAvgPool2d(1)
struct Flatten {
  bool operator==(const Flatten&) const = default;
};
struct Dropout {
  double p = 0.5;
  bool operator==(const Dropout&) const = default;
};
struct Add {
  bool operator==(const Add&) const = default;
};  // any number of inputs of one shape
struct Identity {
  bool operator==(const Identity&) const = default;
};

using LayerSpec = std::variant<Linear, Conv2d, BatchNorm, Relu, MaxPool, AvgPool, GlobalAvgPool,
                               Flatten, Dropout, Add, Identity>;

// How a parameter starts, from a generator keyed by (seed, parameter name).
struct Uniform {
  double bound = 0;  // in [-bound, bound)
  bool operator==(const Uniform&) const = default;
};
struct Constant {
  double value = 0;
  bool operator==(const Constant&) const = default;
};
using Initial = std::variant<Uniform, Constant>;

struct Parameter {  // PyTorch's name and layout: "conv1.weight" [O, I/groups, kh, kw], "fc.weight"
                    // [out, in]
  std::string name;
  Shape shape;
  Initial initial;
  bool operator==(const Parameter&) const = default;
};
struct Buffer {  // state that is not trained and never versioned: "bn.running_mean", f32
  std::string name;
  Shape shape;
  double initial = 0;
  bool operator==(const Buffer&) const = default;
};

struct Layer {
  std::string name;
  LayerSpec spec;
  std::vector<ValueId> inputs;
  Shape output;
  std::vector<Parameter> parameters;  // weight, bias
  std::vector<Buffer>
      buffers;             // running_mean, running_var (num_batches_tracked: the runtime's counter)
  std::int64_t flops = 0;  // of one sample's forward; a multiply-add counts 2
  bool operator==(const Layer&) const = default;
};

enum class Loss { CrossEntropy, Mse };

struct Graph {
  std::string name;
  Shape input;
  std::vector<Layer> layers;  // topological order; the output of the last one goes to the loss
  Loss loss = Loss::CrossEntropy;

  // The shape of a value: 0 is the input, i + 1 the output of layer i.
  const Shape& shape(ValueId value) const;
  static ValueId output_of(LayerId layer) { return ValueId{layer.value + 1}; }
  // The layers that read a value, in topological order.
  std::vector<LayerId> consumers(ValueId value) const;
  std::int64_t parameter_count() const;
};

// The TOML name of a layer's kind: "conv2d".
std::string_view kind_name(const LayerSpec& spec);

}  // namespace pipetrain
