// What each worker does, as data. A Program is made by pure functions, printed, checked and
// simulated with no device, and then run as it stands: the executor decides nothing.
//
// Weight versions are bound when the program is made. Version v of a stage is its weights after v
// updates since the program began; a program that is run again begins at 0 again.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.hpp"

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
};

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

// Which weights a compute instruction reads; of an Update, the version that it makes.
struct WeightRead {
  Version version;
  std::variant<AsStored, Extrapolate, Blend> how;
  bool operator==(const WeightRead&) const = default;
};

struct Instruction {
  Op op = Op::Forward;
  StageId stage;
  MicrobatchId microbatch;  // of SyncGradients and Update: the last micro-batch of their mini-batch
  WeightRead weights;
  bool operator==(const Instruction&) const = default;
};

struct Program {
  int stages = 1;
  int microbatches = 1;  // per mini-batch
  int minibatches = 1;
  std::vector<std::vector<Instruction>> workers;  // each runs top to bottom
  bool operator==(const Program&) const = default;

  MinibatchId minibatch_of(MicrobatchId m) const { return {m.value / microbatches}; }
};

}  // namespace pipetrain
