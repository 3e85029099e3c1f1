// A layer in its graph: what it computes from which values, with its parameters and buffers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/ids.hpp"
#include "base/indexed.hpp"
#include "graph/layer_spec.hpp"
#include "graph/shape.hpp"

namespace pipetrain {

// The initial values of a parameter, from a generator keyed by (seed, parameter name).
struct Uniform {
  double bound = 0;  // in [-bound, bound)
  bool operator==(const Uniform&) const = default;
};
struct Constant {
  double value = 0;
  bool operator==(const Constant&) const = default;
};
struct Normal {
  double std = 1;
  bool operator==(const Normal&) const = default;
};
using Initial = std::variant<Uniform, Constant, Normal>;

// A parameter of a layer further up that another layer uses as its own.
struct Tie {
  LayerId layer;
  int parameter = 0;
  bool operator==(const Tie&) const = default;
};

struct Parameter {  // PyTorch's name and layout: "conv1.weight" [O, I/groups, kh, kw], "fc.weight"
                    // [out, in]
  std::string name;
  Shape shape;
  Initial initial;
  std::optional<Tie> tied = {};  // if set, it is that parameter, which itself is tied to none
  bool trained = true;           // false: it keeps its value (model.trainable)
  double lr_factor = 1;          // times the learning rate (optimizer.lr_factors)
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
  Indexed<ValueId> inputs;
  Shape output;
  Indexed<Parameter> parameters;  // weight, bias
  Indexed<Buffer>
      buffers;             // running_mean, running_var (num_batches_tracked: the runtime's counter)
  std::int64_t flops = 0;  // of the forward of one sample; a multiply-add counts 2
  // Does it have a trained parameter? If so, it needs the gradients of all of its parameters.
  bool trains() const;
  bool operator==(const Layer&) const = default;
};

}  // namespace pipetrain
