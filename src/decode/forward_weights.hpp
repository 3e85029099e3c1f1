// A whole model's weights for passes that only compute: one version, packed for forward only, and
// the layers' buffers.
#pragma once

#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "base/indexed.hpp"
#include "checkpoint/parameters.hpp"
#include "stage/memory.hpp"

namespace pipetrain {

struct Graph;

// The bytes that the weights will take.
std::size_t forward_weight_bytes(const Graph& graph, const Lowering& lowering);

// Threading: one thread at a time. Graph, lowering, stream and memory must outlive it.
class ForwardWeights {
 public:
  ForwardWeights(const Graph& graph, const Lowering& lowering, Stream& stream, StageMemory& memory);

  // Plain, in PyTorch's layouts, by their global names; may be called again between passes.
  void put(const NamedTensors& tensors);

  Weights of(LayerId layer) const;
  std::span<void* const> buffers(LayerId layer) const { return at(layer).buffers; }

 private:
  struct LayerWeights {
    std::vector<const void*> parameters;
    void* packed = nullptr;
    std::vector<void*> buffers;
  };
  const LayerWeights& at(LayerId layer) const { return layers_[layer]; }
  void put(LayerId layer, const NamedTensors& tensors);

  const Graph& graph_;
  const Lowering& lowering_;
  Stream& stream_;
  Indexed<LayerWeights, LayerId> layers_;
};

}  // namespace pipetrain
