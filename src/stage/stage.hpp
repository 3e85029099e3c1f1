// One stage at work: its weights, its memory, its kernels. It asks its stream for passes over one
// micro-batch, and knows neither threads nor channels nor what comes next (runtime/worker.hpp
// does).
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "base/indexed.hpp"
#include "compile/compiled_stage.hpp"
#include "compile/lowered_model.hpp"
#include "config/config.hpp"
#include "stage/layer_watch.hpp"
#include "stage/memory.hpp"
#include "stage/optimizer.hpp"
#include "stage/pass_memory.hpp"
#include "stage/statistics_log.hpp"
#include "stage/weight_store.hpp"

namespace pipetrain {

struct StageInput {
  const LoweredModel& model;
  Backend& backend;
  const OptimizerConfig& optimizer;
  StageId id;
  LayerId first, last;  // inclusive
  StreamOptions stream = {};
  int weight_copies = 1;
  bool mixes_weights = false;  // it reads weights that no update made
  DeltaRule delta = {};
  int statistics_logged = 0;  // micro-batches (StatisticsLog)
  int slots = 1;              // micro-batches whose activations exist at once
  int input_slots = 0;        // if those are recomputed: micro-batches in flight; otherwise 0
  bool split_backward = false;
  Indexed<bool, LayerId> recomputed = {};  // RecipeInput::recomputed; empty: none
  PacketBytes packets = {};
};

// The part of a backward that an instruction asks for: all of it; a half; the head, after which the
// gradients of the stage's inputs are complete and can be sent; or the tail, which is the rest.
enum class BackwardPart { Whole, InputHalf, WeightHalf, Head, Tail };

// Everything that one pass over one micro-batch is given. Packets are null if there is no such
// boundary or the pass does not touch it.
struct PassCall {
  MicrobatchSize size;
  int slot = 0, input_slot = -1;
  const void* input = nullptr;  // first stage: the micro-batch's, plain; in every pass over it
  std::byte* packet_in = nullptr;
  std::byte* packet_out = nullptr;
  std::byte* gradient_in = nullptr;
  std::byte* gradient_out = nullptr;
  WeightRead weights;
  RandomKey random;
};

// An update that follows a backward, with nothing of its stage in between, at this rate. `sums`: of
// squares, as update() gives them: results (backend/stream.hpp).
struct UpdateCall {
  double lr = 0;
  std::int64_t step = 1;  // from 1
  std::span<double> sums;
};

// Threading: used by one worker at a time.
class Stage {
 public:
  explicit Stage(const StageInput& input);

  // Makes kernels and memory for micro-batches of these sizes; must precede any pass over one of
  // them. Packets that were taken before become invalid.
  void prepare(std::span<const MicrobatchSize> sizes);
  void prepare(const MicrobatchSize& size) { prepare({&size, 1}); }
  // The same, with kernels that are already compiled for this stage.
  void prepare(std::vector<CompiledStage> compiled);
  // Must precede prepare(): passes in this mode use the workspace of that stage, which runs on the
  // same thread, needs as much or more, and outlives them.
  void borrow_workspace(Mode mode, const StageCopy& which, const Stage& lender);

  void load_input(const PassCall& call);  // first stage, before its forward
  void forward(const PassCall& call);
  // The forward again, into another slot, if activations are not kept.
  void recompute(const PassCall& call);
  // What recompute() made for the next stage, as forward() sends it. Only the call's size and slot
  // count.
  void copy_recomputed(const PassCall& call, std::byte* packet);
  // Last stage, after forward(): adds to *result.
  void loss(const PassCall& call, const Targets& targets, LossResult* result);
  // Last stage: the gradient of the loss; precedes backward(). scale: 1 / labels of the mini-batch.
  void loss_gradient(const PassCall& call, const Targets& targets, double scale);
  // If `update` is set, layers whose kernels can do so are updated on the way; the same update()
  // must follow and does the rest.
  void backward(const PassCall& call, BackwardPart part, const UpdateCall* update = nullptr);

  // Zeroes those of the mini-batch's gradients to which none of its backwards contributed.
  void complete_gradients();
  std::span<float> gradient(int parameter) const { return optimizer_.gradient(parameter); }
  using Sums = StageOptimizer::Sums;
  void sums_of_squares(std::span<double> sums, Sums which = Sums::All) {
    optimizer_.sums_of_squares(sums, which);
  }
  const StageTies& ties() const { return ties_; }
  // Makes the weights' next version live. If `sums` are asked for, gradient_scale must be 1.
  void update(const StageUpdate& update);
  void begin_program() { weights_.begin(); }
  void keep_up_delta(bool on);

  // Plain, in PyTorch's layout. For initial values, checkpoints and exports; between programs only.
  void set_parameter(int layer, int parameter, const float* plain);
  void get_parameter(int layer, int parameter, float* plain) const;
  // Do nothing if the stage keeps no delta, which then counts as zero.
  void set_delta(int layer, int parameter, const float* plain);
  void get_delta(int layer, int parameter, float* plain) const;
  void set_moment(int layer, int parameter, int moment, const float* plain);
  void get_moment(int layer, int parameter, int moment, float* plain) const;
  void set_buffer(int layer, int index, const float* values);
  void get_buffer(int layer, int index, float* values);
  std::int64_t batches_tracked() const { return batches_tracked_; }
  void set_batches_tracked(std::int64_t count) { batches_tracked_ = count; }
  void finish_loading() { weights_.pack(); }

  // For stages with copies: what its forwards note, and how a note of any copy becomes part of this
  // copy's running statistics, on a stream that reaches it.
  StatisticsLog& statistics() { return statistics_; }
  void apply_statistics(const StatisticsLog::Entry& entry, Stream& stream);
  void read_output(const PassCall& call, float* plain) const;  // last stage, after forward()

  void set_watch(LayerWatch* watch) { watch_ = watch; }  // null: none; outlives the passes

  // Bytes that a micro-batch of this size sends to the next stage, and back to the previous one.
  struct Sent {
    std::size_t activations = 0, gradients = 0;
  };
  Sent sent(const MicrobatchSize& size) const;

  StageId id() const { return input_.id; }
  LayerId first() const { return input_.first; }
  int layers() const { return input_.last.value - input_.first.value + 1; }
  const Graph& graph() const { return input_.model.graph(); }
  const Layer& layer(int l) const;
  int slots() const { return input_.slots; }
  int input_slots() const { return input_.input_slots; }
  bool recomputes() const { return input_.input_slots > 0; }
  int parameters() const { return optimizer_.parameters(); }
  const WeightStore& weights() const { return weights_; }
  HeldMemory memory() const;
  std::byte* take_packet(Mode mode, std::size_t bytes) { return passes_.take_packet(mode, bytes); }
  Stream& stream() const { return *stream_; }
  const StreamOptions& where() const { return input_.stream; }

 private:
  using Bases = IndexedArray<std::byte*, area_count, Area>;

  CompiledStage& compiled(const PassCall& call);
  Bases bases(const PassCall& call) const;
  Bases recomputed_bases(const CompiledStage& compiled, const PassCall& call) const;
  void add(CompiledStage compiled);
  CompiledStage compile(const MicrobatchSize& size) const;
  void lay_out();
  PassNeeds& needs_of(Mode mode) { return needs_[mode]; }
  struct RunOptions {
    const UpdateCall* update = nullptr;
    bool again = false, notes = false;
  };
  struct CallOptions {
    const FusedUpdate* update = nullptr;
    bool again = false, notes = false;
  };
  LossArguments loss_arguments(const CompiledStage& compiled, const PassCall& call,
                               const Targets& targets) const;
  void run(CompiledStage& compiled, const Step& step, const Bases& bases, const PassCall& call,
           const RunOptions& options);
  void call_kernel(CompiledStage& compiled, const Step& step, const Bases& bases,
                   const PassCall& call, const CallOptions& options);

  std::span<const Layer> own_layers() const;
  int layer_of(const Step& step) const;
  void update_by_kernels(const UpdateCall& call);
  void prepare(const WeightRead& read);
  const FusedUpdate* fused(const CompiledStage& compiled, int layer, const UpdateCall* update);

  StageInput input_;
  std::unique_ptr<Stream> stream_;
  StageMemory memory_;  // of parameters
  PassMemory passes_;
  WeightStore weights_;
  StageTies ties_;
  StageOptimizer optimizer_;
  StatisticsLog statistics_;
  std::vector<std::vector<void*>> buffers_;  // per layer
  std::vector<CompiledStage> compiled_;
  PassNeedsOfModes needs_;
  bool keeps_up_delta_ = true;
  std::vector<const void*> operand_inputs_;  // reused by every step
  std::vector<void*> operand_gradients_;
  std::vector<bool> gradient_started_;  // per layer: the sum has a first term
  std::int64_t batches_tracked_ = 0;
  LayerWatch* watch_ = nullptr;
};

}  // namespace pipetrain
