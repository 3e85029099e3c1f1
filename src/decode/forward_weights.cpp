#include "decode/forward_weights.hpp"

#include "base/bytes_of.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

namespace {

std::size_t buffer_bytes(const Buffer& buffer) { return bytes_of<float>(buffer.shape.elements()); }

}  // namespace

std::size_t forward_weight_bytes(const Graph& graph, const Lowering& lowering) {
  std::size_t bytes = 0;
  for (LayerId l{0}; l.value < std::ssize(graph.layers); ++l.value) {
    const Layer& layer = graph.layers[l];
    for (int p = 0; p < std::ssize(layer.parameters); ++p) bytes += lowering.parameter_bytes(l, p);
    bytes += lowering.packed_bytes(l, Pass::Forward);
    for (const Buffer& buffer : layer.buffers) bytes += buffer_bytes(buffer);
  }
  return bytes;
}

ForwardWeights::ForwardWeights(const Graph& graph, const Lowering& lowering, Stream& stream,
                               StageMemory& memory)
    : graph_(graph), lowering_(lowering), stream_(stream) {
  for (LayerId l{0}; l.value < std::ssize(graph.layers); ++l.value) {
    const Layer& layer = graph.layers[l];
    LayerWeights& weights = layers_.emplace_back();
    for (int p = 0; p < std::ssize(layer.parameters); ++p)
      weights.parameters.push_back(memory.take(Use::Weights, lowering.parameter_bytes(l, p)));
    weights.packed = memory.take(Use::Weights, lowering.packed_bytes(l, Pass::Forward));
    for (const Buffer& buffer : layer.buffers)
      weights.buffers.push_back(memory.take(Use::Weights, buffer_bytes(buffer)));
  }
}

void ForwardWeights::put(const NamedTensors& tensors) {
  for (LayerId l{0}; l.value < std::ssize(layers_); ++l.value) put(l, tensors);
}

void ForwardWeights::put(LayerId id, const NamedTensors& tensors) {
  const Layer& layer = graph_.layers[id];
  const LayerWeights& weights = at(id);
  for (std::size_t p = 0; p < layer.parameters.size(); ++p)
    lowering_.load_parameter(stream_, id, static_cast<int>(p),
                             floats(tensors, graph_.owner(layer.parameters[p]).name).data(),
                             const_cast<void*>(weights.parameters[p]));
  for (std::size_t b = 0; b < layer.buffers.size(); ++b) {
    const std::span<const float> values = floats(tensors, layer.buffers[b].name);
    stream_.write(weights.buffers[b], values.data(), values.size_bytes());
  }
  if (weights.packed)
    lowering_.pack(stream_, id, Pass::Forward, weights.parameters, weights.packed);
}

Weights ForwardWeights::of(LayerId layer) const { return {at(layer).parameters, at(layer).packed}; }

}  // namespace pipetrain
