// Is told of every piece of work that a stage asks of its stream for a layer: what the profiler
// measures, on the very kernels that train.
#pragma once

namespace pipetrain {

enum class LayerWork {
  Forward,         // a recomputation too
  BackwardInput,   // with the sums of a gradient that several layers give
  BackwardWeight,  // alone
  WeightUpdate,    // a weight gradient and the update that is fused into it
  Update,          // alone
  Copy,            // of a value that leaves the stage but lies elsewhere
};

class LayerWatch {
 public:
  virtual ~LayerWatch() = default;
  // Called around the work, by the stage's worker; `layer` within the stage, from 0. On a device
  // the work may be done later: whoever measures lets the stream finish.
  virtual void begin(LayerWork work, int layer) = 0;
  virtual void end() = 0;
};

// Around one piece of work; null: nobody watches.
class Watched {
 public:
  Watched(LayerWatch* watch, LayerWork work, int layer) : watch_(watch) {
    if (watch_) watch_->begin(work, layer);
  }
  ~Watched() {
    if (watch_) watch_->end();
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  LayerWatch* const watch_;
};

}  // namespace pipetrain
