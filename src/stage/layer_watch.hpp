// Sees every piece of work that a stage asks of its stream for a layer: so the profiler measures
// the same kernels that train.
#pragma once

#include "backend/stream.hpp"

namespace pipetrain {

enum class LayerWork {
  Forward,         // a recomputation too
  BackwardInput,   // with the sums of a gradient that several layers give
  BackwardWeight,  // alone
  WeightUpdate,    // a weight gradient and the update that is fused into it
  Update,          // alone
  Pack,            // of new weights, in the layouts that kernels read
  Copy,            // of a value that leaves the stage from another place than its packet
  Load,            // of the first layer's input, where it is brought into another layout
  Loss,            // of the last layer's output
  LossGradient,
};

class LayerWatch {
 public:
  virtual ~LayerWatch() = default;
  // Called around the work, by the stage's worker; `layer` within the stage, from 0. On a device
  // the work may be done later: the code that measures lets the stream finish.
  virtual void begin(LayerWork work, int layer) = 0;
  virtual void end(Stream& stream) = 0;
};

// Does `work`, watched unless `watch` is null. After an exception end() is not called.
template <class Work>
void watched(LayerWatch* watch, Stream& stream, LayerWork kind, int layer, const Work& work) {
  if (!watch) return work();
  watch->begin(kind, layer);
  work();
  watch->end(stream);
}

}  // namespace pipetrain
