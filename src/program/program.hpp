// What each worker does, as data. Pure functions make a Program; it is printed, checked and
// simulated without a device, and then run as it is: the executor decides nothing.
//
// Weight versions are bound when the program is made. Version v of a stage is its weights after v
// updates since the program began; a program that runs again starts from version 0 again.
#pragma once

#include <algorithm>
#include <numeric>
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
  SendRecomputed,     // SR a recomputation's outputs, to the next stage of its segment
  ReceiveRecomputed,  // RR what the stage recomputes from, in place of its input
  SyncGradients,      // Y  hands in what updates of other stages or replicas need of a gradient
  Update,             // U  the optimizer's step for one mini-batch, or for one of each copy

  // Made by the passes that run last (program/passes.hpp).
  BackwardHead,          // BH  a backward up to the gradients that the previous stage waits for
  BackwardTail,          // BT  what is left: the weight gradient of the stage's first layer that
                         //     has parameters
  BackwardUpdate,        // BU  a backward and the update, each weight where its gradient is made
  BackwardTailUpdate,    // TU  a tail and the update
  BackwardWeightUpdate,  // WU  a weight half and the update
};

// The instruction's backward without the update that is fused into it; any other op unchanged.
constexpr Op without_update(Op op) {
  return op == Op::BackwardUpdate         ? Op::Backward
         : op == Op::BackwardTailUpdate   ? Op::BackwardTail
         : op == Op::BackwardWeightUpdate ? Op::BackwardWeight
                                          : op;
}
constexpr bool fuses_update(Op op) { return without_update(op) != op; }
// From here on, does the stage have its next version?
constexpr bool updates(Op op) { return op == Op::Update || fuses_update(op); }

constexpr bool is_backward(Op op) {
  const Op backward = without_update(op);
  return backward == Op::Backward || backward == Op::BackwardInput ||
         backward == Op::BackwardWeight || backward == Op::BackwardHead ||
         backward == Op::BackwardTail;
}
// Can the previous stage continue from here? The activation then counts as no longer in flight.
constexpr bool gives_input_gradient(Op op) {
  const Op backward = without_update(op);
  return backward == Op::Backward || backward == Op::BackwardInput || backward == Op::BackwardHead;
}
// From here on, does the stage have all that the micro-batch adds to its weight gradients?
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
constexpr bool is_send(Op op) {
  return op == Op::SendActivation || op == Op::SendRecomputed || op == Op::SendGradient;
}
constexpr bool is_receive(Op op) {
  return op == Op::ReceiveActivation || op == Op::ReceiveRecomputed || op == Op::ReceiveGradient;
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

// Which weights an instruction reads (see reads_weights). For an Update, the version that it makes
// (ProgramShape::version_made_by), which a fused update makes too.
struct WeightRead {
  Version version;
  std::variant<AsStored, Extrapolate, Blend> how;
  bool operator==(const WeightRead&) const = default;
};

struct Instruction {
  Op op = Op::Forward;
  StageId stage;            // of a send the sender, of a receive the receiver
  MicrobatchId microbatch;  // for SyncGradients and Update: ProgramShape::name_of_update
  WeightRead weights;
  bool operator==(const Instruction&) const = default;
};

// A program without its instructions.
struct ProgramShape {
  int stages = 1;        // parts of the model; a worker may hold several
  int microbatches = 1;  // per mini-batch
  int minibatches = 1;
  // placement[s]: the workers that hold a copy of stage s, in the order of copies. Empty: stage s
  // is on worker s alone. Copies share each mini-batch: its i-th micro-batch runs on copy i mod the
  // number of copies.
  Indexed<std::vector<WorkerId>, StageId> placement = {};
  // Copies take whole mini-batches in turn instead (PipeDream's 1F1B-RR): mini-batch k runs on copy
  // k mod the number of copies, and an update is for as many mini-batches as the stage has copies.
  bool whole_minibatches = false;
  // Stages with the same number wait for each other's gradients before they update; those with -1
  // wait for none. Empty: all that hand in gradients (SyncGradients) wait for each other.
  Indexed<int, StageId> sync_groups = {};
  // A mini-batch's backwards follow each other, and what they give the previous stage crosses the
  // boundary in one packet: one send and one receive, named by the last micro-batch.
  bool gradients_together = false;
  // In its steady state a pipeline that never drains repeats its order after this many
  // mini-batches.
  int period = 1;
  bool operator==(const ProgramShape&) const = default;

  MinibatchId minibatch_of(MicrobatchId m) const { return {m.value / microbatches}; }
  MicrobatchId last_microbatch_of(MinibatchId k) const {
    return {(k.value + 1) * microbatches - 1};
  }
  bool ends_minibatch(MicrobatchId m) const { return (m.value + 1) % microbatches == 0; }
  int total_microbatches() const { return microbatches * minibatches; }

  int copies_of(StageId s) const {
    return placement.empty() ? 1 : static_cast<int>(placement[s].size());
  }
  bool has_copies() const {  // does any stage have copies, on several workers?
    return std::any_of(placement.begin(), placement.end(),
                       [](const auto& copies) { return copies.size() > 1; });
  }
  int copy_of(StageId s, MicrobatchId m) const {  // the one that runs it
    return (whole_minibatches ? m.value / microbatches : m.value % microbatches) % copies_of(s);
  }
  WorkerId worker_of_copy(StageId s, int copy) const {
    return placement.empty() ? WorkerId{s.value} : placement[s][copy];
  }
  WorkerId worker_of(StageId s, MicrobatchId m) const {
    return placement.empty() ? WorkerId{s.value} : placement[s][copy_of(s, m)];
  }
  int copy_on(WorkerId worker, StageId s) const {  // for a stage that the worker holds
    if (placement.empty()) return 0;
    const auto& copies = placement[s];
    return static_cast<int>(std::find(copies.begin(), copies.end(), worker) - copies.begin());
  }
  // How many of the micro-batches of a mini-batch a copy runs.
  int share_of(StageId s, int copy, MinibatchId k) const {
    const int copies = copies_of(s);
    if (whole_minibatches) return k.value % copies == copy ? microbatches : 0;
    return (microbatches - copy + copies - 1) / copies;
  }

  // A stage's updates count from 0, and are named by the last micro-batch that they include.
  int minibatches_per_update(StageId s) const { return whole_minibatches ? copies_of(s) : 1; }
  int update_for(StageId s, MinibatchId k) const { return k.value / minibatches_per_update(s); }
  int updates_of(StageId s) const {
    return minibatches < 1 ? 0 : update_for(s, {minibatches - 1}) + 1;
  }
  MicrobatchId name_of_update(StageId s, int update) const {
    return last_microbatch_of(
        {std::min((update + 1) * minibatches_per_update(s), minibatches) - 1});
  }
  // Is none of the update's mini-batches this copy's own? The last update may have fewer
  // mini-batches than there are copies.
  bool is_idle(StageId s, int copy, int update) const {
    return whole_minibatches && update * copies_of(s) + copy >= minibatches;
  }
  // The version made by an instruction for which updates() holds.
  Version version_made_by(const Instruction& i) const {
    return {update_for(i.stage, minibatch_of(i.microbatch)) + 1};
  }
  // After this many mini-batches all stages are where they were in the order, at first copies,
  // between updates.
  int minibatches_per_round() const {
    int round = period;
    if (whole_minibatches)
      for (const auto& copies : placement) round = std::lcm(round, static_cast<int>(copies.size()));
    return round;
  }
  int sync_group_of(StageId s) const { return sync_groups.empty() ? 0 : sync_groups[s]; }
};

struct Program : ProgramShape {
  Indexed<std::vector<Instruction>, WorkerId> workers;  // each runs top to bottom
  bool operator==(const Program&) const = default;

  bool has(Op op) const {
    return std::ranges::any_of(workers, [op](const std::vector<Instruction>& list) {
      return std::ranges::any_of(list, [op](const Instruction& i) { return i.op == op; });
    });
  }

  // Stages that hand in gradients: their updates wait for their sync group's, others for none.
  std::set<StageId> syncing_stages() const {
    std::set<StageId> stages;
    for (const auto& list : workers)
      for (const Instruction& i : list)
        if (i.op == Op::SyncGradients) stages.insert(i.stage);
    return stages;
  }
};

}  // namespace pipetrain
