// A planned model on its workers: stages, the boundaries between them, and the programs that run
// over them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "checkpoint/parameters.hpp"
#include "checkpoint/state.hpp"
#include "compile/compiled_pipeline.hpp"
#include "config/config.hpp"
#include "data/loader.hpp"
#include "plan/plan.hpp"
#include "runtime/run.hpp"

namespace pipetrain {

// Threading: all calls from one thread. After an exception the pipeline is closed: only its
// destructor may be called.
//
// If the workers are on several ranks, each rank has the stages of its own workers. Rank 0's
// pipeline is used as if it had all; the others serve() it.
class Pipeline {
 public:
  // `job`: the ranks that the pipeline was compiled for; outlives it. Null: one rank.
  explicit Pipeline(CompiledPipeline compiled,
                    const MakeChannel& make_channel = make_in_process_channel, Job* job = nullptr);
  explicit Pipeline(const PipelineInput& input) : Pipeline(compile_pipeline(input)) {}
  ~Pipeline();

  // Weights and buffers by name, in PyTorch's layout; every name of the graph must be present.
  void set_parameters(const NamedTensors& tensors);
  NamedTensors parameters() const;

  // A copy of everything that training has made so far, per stage: weights, buffers, the
  // optimizer's moments.
  std::vector<StageTensors> state() const;
  // The same for this rank's stages only; other ranks' stages have no layers in it. Each rank
  // copies its own now, for Serving::save.
  std::vector<StageTensors> state_to_save() const;
  // The other ranks that have something to save.
  std::vector<int> ranks_that_save() const;
  // The same names from all stages together, whatever the split was when they were saved.
  void set_state(const NamedTensors& tensors);

  // Trains mini-batches [first, first + count) as one segment: begins and ends drained. A segment
  // is either within PipeMare's synchronous epochs or after them. on_step is called in order, from
  // this thread. The first failure of any worker (or of on_step) is rethrown once all workers have
  // stopped. Once `drain` is true, what has begun is finished and nothing else begins. Returns how
  // many mini-batches were trained.
  std::int64_t train(Loader& loader, std::int64_t first, std::int64_t count,
                     const std::function<void(const StepRecord&)>& on_step,
                     const std::atomic<bool>* drain = nullptr);

  // Records what train() does from here on; null: no more. `trace` outlives the pipeline, or the
  // recording.
  void set_trace(Trace* trace);

  // Reports the work of each layer of a stage's first copy from here on; null: no more. `watch`
  // outlives the pipeline.
  void set_watch(StageId stage, LayerWatch* watch);

  // One pass over the samples of a loader made with repeat = false, with mini-batches of the sizes
  // that the pipeline was made for.
  EvaluationSum evaluate(Loader& loader);

  struct Serving {
    // The loader of the training from mini-batch `first` on, or of an evaluation; called only if
    // this rank reads.
    std::function<std::unique_ptr<Loader>(Mode mode, std::int64_t first)> make_loader;
    std::function<void()> on_training = [] {};  // the first segment begins
    // By stage number; other ranks' stages have no layers. Called only if this rank has some.
    std::function<void(std::vector<StageTensors>)> save = [](auto) {};
  };
  // For a rank other than 0: does what rank 0's calls need of it until the job ends.
  void serve(const Serving& serving);

  // Changes the cuts of the same training, in place, to those of a pipeline made from the same
  // input except for its plan. Weights and moments are carried over. Between two segments of a
  // schedule that drains, nothing else changes. If the new stages cannot be made, the pipeline is
  // closed.
  void recut(std::unique_ptr<const Plan> plan, CompiledPipeline compiled);

  const PipelineInput& input() const { return compiled().in; }
  const CompiledPipeline& compiled() const;  // without its kernels, which the stages have taken
  const Program& program() const { return segment_program().program; }
  const SegmentProgram& segment_program() const;  // of the longest segment
  int loader_readers(Mode mode) const;            // of this rank; 0: none
  bool reads_inputs() const;                      // in addition to labels
  int loader_depth(Mode mode) const;
  int reader_threads(Mode mode) const;
  // Is there a core for every thread that no other run of pipetrain has claimed? Workers are pinned
  // to those; an inline worker's thread is not.
  bool has_own_cores() const;
  std::vector<HeldMemory> memory() const;  // per stage: all its copies, wherever they are

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipetrain
