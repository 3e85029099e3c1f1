// What each worker does, as data. A Program is made by pure functions, printed, checked and
// simulated with no device, and then run as it stands: the executor decides nothing.
//
// Weight versions are bound when the program is made. Version v of a stage is its weights after v
// updates since the program began; a program that is run again begins at 0 again.
#pragma once

#include <algorithm>
#include <set>
#include <variant>
#include <vector>

#include "base/ids.hpp"
#include "base/indexed.hpp"

namespace pipetrain {

enum class Op {
  LoadInput,          // L  stage 0 takes its micro-batch from the loader
  Forward,            // F
  Backward,           // B  both halves
  BackwardInput,      // I  the half that the previous stage waits for
  BackwardWeight,     // W  the half that only the update waits for
  Recompute,          // R  the stage's forward again, from its saved input
  SendActivation,     // SA
  ReceiveActivation,  // RA
  SendGradient,       // SG
  ReceiveGradient,    // RG
  SyncGradients,      // Y  what an update needs of other stages' or replicas' gradients
  Update,             // U  the optimizer's step of one mini-batch

  // Made by the passes that run last (program/passes.hpp).
  BackwardHead,          // BH  a backward up to the gradients that the previous stage waits for
  BackwardTail,          // BT  what is left: the weight gradient of the stage's first layer that
                         //     has parameters
  BackwardUpdate,        // BU  a backward and the update, each weight updated where its gradient is
  BackwardTailUpdate,    // TU  a tail and the update
  BackwardWeightUpdate,  // WU  a weight half and the update
};

// The instruction's backward without the update that is fused into it; any other op as it is.
constexpr Op without_update(Op op) {
  return op == Op::BackwardUpdate         ? Op::Backward
         : op == Op::BackwardTailUpdate   ? Op::BackwardTail
         : op == Op::BackwardWeightUpdate ? Op::BackwardWeight
                                          : op;
}
constexpr bool fuses_update(Op op) { return without_update(op) != op; }
// From here on the stage has its next version.
constexpr bool updates(Op op) { return op == Op::Update || fuses_update(op); }

constexpr bool is_backward(Op op) {
  const Op backward = without_update(op);
  return backward == Op::Backward || backward == Op::BackwardInput ||
         backward == Op::BackwardWeight || backward == Op::BackwardHead ||
         backward == Op::BackwardTail;
}
// From here on the previous stage can continue, and the activation counts as no longer in flight.
constexpr bool gives_input_gradient(Op op) {
  const Op backward = without_update(op);
  return backward == Op::Backward || backward == Op::BackwardInput || backward == Op::BackwardHead;
}
// From here on the stage has all that the micro-batch adds to its weights' gradients.
constexpr bool gives_weight_gradient(Op op) {
  const Op backward = without_update(op);
  return backward == Op::Backward || backward == Op::BackwardWeight || backward == Op::BackwardTail;
}
constexpr bool reads_weights(Op op) {
  return op == Op::Forward || gives_input_gradient(op) || op == Op::Recompute;
}
constexpr bool computes(Op op) {
  return op == Op::Forward || is_backward(op) || op == Op::Recompute;
}
constexpr bool is_send(Op op) { return op == Op::SendActivation || op == Op::SendGradient; }
constexpr bool is_receive(Op op) {
  return op == Op::ReceiveActivation || op == Op::ReceiveGradient;
}

struct AsStored {
  bool operator==(const AsStored&) const = default;
};
struct Extrapolate {  // w[version] - updates * delta  (PipeMare, section 3.2: T2)
  double updates = 0;
  bool operator==(const Extrapolate&) const = default;
};
struct Blend {  // (1 - other_share) * w[version] + other_share * w[other]  (I-TiMePReSt)
  Version other;
  double other_share = 0;
  bool operator==(const Blend&) const = default;
};

// Which weights an instruction reads (see reads_weights); of an Update, the version that it makes:
// one more than the number of its mini-batch, which is also what a fused update makes.
struct WeightRead {
  Version version;
  std::variant<AsStored, Extrapolate, Blend> how;
  bool operator==(const WeightRead&) const = default;
};

struct Instruction {
  Op op = Op::Forward;
  StageId stage;            // of a send the sender's, of a receive the receiver's
  MicrobatchId microbatch;  // of SyncGradients and Update: the last micro-batch of their mini-batch
  WeightRead weights;
  bool operator==(const Instruction&) const = default;
};

// A program without its instructions.
struct ProgramShape {
  int stages = 1;        // parts of the model; a worker may hold several
  int microbatches = 1;  // per mini-batch
  int minibatches = 1;
  // placement[s]: the workers that hold a copy of stage s; number m mod size of them runs
  // micro-batch m. Empty: stage s lies on worker s alone.
  Indexed<std::vector<WorkerId>, StageId> placement;
  // A mini-batch's backwards follow each other, and what they give the stage before crosses the
  // boundary in one packet: one send, one receive, named by the last micro-batch.
  bool gradients_together = false;
  bool operator==(const ProgramShape&) const = default;

  MinibatchId minibatch_of(MicrobatchId m) const { return {m.value / microbatches}; }
  MicrobatchId last_microbatch_of(MinibatchId k) const {
    return {(k.value + 1) * microbatches - 1};
  }
  // The version that an instruction which updates() makes.
  Version version_made_by(const Instruction& i) const {
    return {minibatch_of(i.microbatch).value + 1};
  }
  bool ends_minibatch(MicrobatchId m) const { return (m.value + 1) % microbatches == 0; }
  int total_microbatches() const { return microbatches * minibatches; }
  int copies_of(StageId s) const {
    return placement.empty() ? 1 : static_cast<int>(placement[s].size());
  }
  bool has_copies() const {  // of a stage, on several workers
    return std::any_of(placement.begin(), placement.end(),
                       [](const auto& copies) { return copies.size() > 1; });
  }
  WorkerId worker_of(StageId s, MicrobatchId m) const {
    if (placement.empty()) return {s.value};
    const auto& copies = placement[s];
    return copies[m.value % copies.size()];
  }
};

struct Program : ProgramShape {
  Indexed<std::vector<Instruction>, WorkerId> workers;  // each runs top to bottom
  bool operator==(const Program&) const = default;

  // Those that hand in gradients: the updates of each wait for all of them, others for nobody.
  std::set<StageId> syncing_stages() const {
    std::set<StageId> stages;
    for (const auto& list : workers)
      for (const Instruction& i : list)
        if (i.op == Op::SyncGradients) stages.insert(i.stage);
    return stages;
  }
};

}  // namespace pipetrain
