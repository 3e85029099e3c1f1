// Observes every piece of work that a stage asks of its stream for a layer, so that the profiler
// measures the same kernels that train.
#pragma once

#include "backend/stream.hpp"

namespace pipetrain {

enum class LayerWork {
  Forward,         // a recomputation too
  BackwardInput,   // with the sums of a gradient to which several layers contribute
  FirstWeight,     // the first weight gradient of a mini-batch, which is written
  BackwardWeight,  // a further one, which is added; without an update
  WeightUpdate,    // the last one, with the update fused into it
  Update,          // not fused
  Pack,            // of new weights, into the layouts that kernels read
  Copy,            // of a value that leaves the stage and is not in its packet
  Load,            // of the first layer's input, if it needs another layout
  Loss,            // of the last layer's output
  LossGradient,
};

class LayerWatch {
 public:
  virtual ~LayerWatch() = default;
  // Called around the work, by the stage's worker; `layer` is within the stage, from 0. On a device
  // the work may be done later; code that measures it lets the stream finish.
  virtual void begin(LayerWork work, int layer) = 0;
  virtual void end(Stream& stream) = 0;
};

// Does `work`, observed unless `watch` is null. If it throws, end() is not called.
template <class Work>
void watched(LayerWatch* watch, Stream& stream, LayerWork kind, int layer, const Work& work) {
  if (!watch) return work();
  watch->begin(kind, layer);
  work();
  watch->end(stream);
}

}  // namespace pipetrain
