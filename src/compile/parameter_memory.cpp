#include "compile/parameter_memory.hpp"

#include "base/bytes_of.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

MemoryAccount parameter_memory(const ParameterMemoryInput& in) {
  MemoryAccount account;
  const auto of_rule = static_cast<std::size_t>(moments(in.optimizer) + (in.keeps_delta ? 1 : 0));
  const auto copies = static_cast<std::size_t>(in.weight_copies + (in.mixes ? 1 : 0));
  for (LayerId l = in.first; l <= in.last; ++l.value) {
    const Layer& layer = in.graph.layers[l];
    std::size_t stored = 0, trained = 0;
    for (int p = 0; p < static_cast<int>(layer.parameters.size()); ++p) {
      const std::size_t bytes = in.lowering.parameter_bytes(l, p);
      stored += bytes;
      if (layer.parameters[p].trained) trained += bytes;
    }
    account[Use::Weights] +=
        (layer.trains() ? copies : 1) * (stored + in.lowering.packed_bytes(l, Pass::Forward) +
                                         in.lowering.packed_bytes(l, Pass::Backward));
    for (const Buffer& buffer : layer.buffers)
      account[Use::Weights] += static_cast<std::size_t>(1 + in.statistics_logged) *
                               bytes_of<float>(buffer.shape.elements());
    if (layer.trains()) account[Use::Gradients] += stored;
    account[Use::Optimizer] += of_rule * trained;
  }
  return account;
}

}  // namespace pipetrain
