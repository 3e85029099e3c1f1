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
// destructor may follow.
//
// Where the workers are on several ranks, each has the stages of its own. Rank 0's pipeline is used
// as if it had all; the others serve() it.
class Pipeline {
 public:
  // `job`: of the ranks that the pipeline was compiled for; outlives it. Null: there is one.
  explicit Pipeline(CompiledPipeline compiled,
                    const MakeChannel& make_channel = make_in_process_channel, Job* job = nullptr);
  explicit Pipeline(const PipelineInput& input) : Pipeline(compile_pipeline(input)) {}
  ~Pipeline();

  // Weights and buffers by name, in PyTorch's layout; every name of the graph must be there.
  void set_parameters(const NamedTensors& tensors);
  NamedTensors parameters() const;

  // All that training has made so far, per stage, copied: weights, buffers, the optimizer's
  // moments.
  std::vector<StageTensors> state() const;
  // The same of this rank's stages alone, those of others being without layers: each rank copies
  // its own now, for Serving::save.
  std::vector<StageTensors> state_to_save() const;
  // The other ranks that save some.
  std::vector<int> ranks_that_save() const;
  // The same names from all stages together, under whatever split they were.
  void set_state(const NamedTensors& tensors);

  // Trains mini-batches [first, first + count) as one segment: begins and ends drained. A segment
  // is within PipeMare's synchronous epochs or after them. on_step is called in order, from this
  // thread. The first failure of any worker (or of on_step) is rethrown once all workers have
  // stopped. Once `drain` says true, what has begun is finished and nothing else begins. Returns
  // the mini-batches trained.
  std::int64_t train(Loader& loader, std::int64_t first, std::int64_t count,
                     const std::function<void(const StepRecord&)>& on_step,
                     const std::atomic<bool>* drain = nullptr);

  // Records what train() does from here on; null: no more. It outlives the pipeline, or that call.
  void set_trace(Trace* trace);

  // Reports the work of each layer of a stage's first copy from here on; null: no more. Outlives
  // the pipeline.
  void set_watch(StageId stage, LayerWatch* watch);

  // One pass over samples, by a loader made with repeat = false, of mini-batches of the sizes that
  // the pipeline was made for.
  EvaluationSum evaluate(Loader& loader);

  struct Serving {
    // The loader of the training from a mini-batch on, or of an evaluation; asked for only where
    // this rank reads.
    std::function<std::unique_ptr<Loader>(Mode mode, std::int64_t first)> make_loader;
    std::function<void()> on_training = [] {};  // the first segment begins
    // By number; without layers: of other ranks. Only where this one has some.
    std::function<void(std::vector<StageTensors>)> save = [](auto) {};
  };
  // A rank's other than 0: does what rank 0's calls need of it until the job ends.
  void serve(const Serving& serving);

  // Other cuts for the same training, in place: of a pipeline made from the same input but for its
  // plan. Weights and moments are carried over; between two segments, of a schedule that drains,
  // nothing else changes. Where the new stages cannot be made, the pipeline is closed.
  void recut(std::unique_ptr<const Plan> plan, CompiledPipeline compiled);

  const PipelineInput& input() const { return compiled().in; }
  const CompiledPipeline& compiled() const;  // without its kernels, which the stages have taken
  const Program& program() const { return segment_program().program; }
  const SegmentProgram& segment_program() const;  // of the longest segment
  int loader_readers(Mode mode) const;            // of this rank; 0: none
  bool reads_inputs() const;                      // besides labels
  int loader_depth() const;
  int reader_threads(Mode mode) const;
  // There is a core for every thread that no other run of pipetrain's has. Workers are pinned
  // there; the thread of an inline one is not.
  bool has_own_cores() const;
  std::vector<HeldMemory> memory() const;  // per stage: of all its copies, wherever they are

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipetrain
