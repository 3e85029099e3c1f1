// One way to train a model on a cluster, and what its program shows. Each candidate of the search
// is its real program, walked through with the costs of its layers (compact_schedule.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/cluster/cluster.hpp"
#include "plan/layer_chain.hpp"
#include "plan/proposal.hpp"
#include "program/program.hpp"
#include "schedules.hpp"

namespace pipetrain {

// Layers in another order than the chain's, for a plan whose cuts divide branches differently.
struct LayerOrder {
  std::vector<int> layers;         // of the chain
  std::vector<double> sent_bytes;  // over a cut after each, per sample; known at the plan's cuts
};
LayerChain reordered(const LayerChain& chain, const LayerOrder& order);

struct Candidate {
  const Schedule* schedule = nullptr;
  int workers = 1;       // the schedule's stages P; without replicas, on devices 0 .. P - 1
  int microbatches = 1;  // per mini-batch
  int virtual_stages = 1;
  Warmup warmup = Warmup::OneFOneB;
  bool recompute = false;
  std::vector<int> firsts = {0};   // the first layer of each part of the model
  std::vector<int> replicas = {};  // of each of P; empty: one each. Devices are numbered in turn
  std::shared_ptr<const LayerOrder> order = {};  // null: the chain's

  int parts() const { return model_parts(*schedule, workers, virtual_stages); }
  int devices() const;
};
// "1f1b, 2 stages, 8 micro-batches"
std::string text_of(const Candidate& candidate);

// Numbers of micro-batches that are searched: powers of two that divide the mini-batch, so that its
// micro-batches have one size.
std::vector<int> equal_divisions(int minibatch_samples);

struct CandidateInput {
  const LayerChain& chain;  // for the candidate's size of micro-batch
  const Cluster& cluster;
  // How many f32 per parameter training keeps besides the versions: its gradient, and the moments
  // of the optimizer.
  int copies_beside_weights = 2;
  std::optional<std::int64_t> memory_limit_bytes = {};  // of each device, besides its own memory
};

struct SimulatedStage {
  double compute_ms = 0;          // forward and backward of one micro-batch, shared by its copies
  std::vector<int> workers = {};  // those that have it: one for each copy
  // To the next part, for one micro-batch, over the slowest way that one takes; the last part: 0.
  double transfer_ms = 0;
};

struct Simulated {
  double step_ms = 0;                      // of a mini-batch in steady state
  double bottleneck_ms = 0;                // for a micro-batch, of the slowest worker or transfer
  double bubble = 0;                       // idle share of the workers' time, in steady state
  std::vector<SimulatedStage> stages;      // per part of the model
  std::vector<std::int64_t> memory_bytes;  // per worker
  // The worker that is short of most memory, and by how much; none if everything fits.
  struct Shortage {
    int worker = 0;
    std::int64_t bytes = 0;
  };
  std::optional<Shortage> shortage = {};
};

// Sets what the workers hold, and which of them is short of most memory, if any is.
void set_memory(Simulated& simulated, std::vector<std::int64_t> per_worker,
                const CandidateInput& input);

// Where its parts are. Throws as simulate_candidate() does.
ProgramShape shape_of(const Candidate& candidate);

// What its workers send until every replica has had its turn (program/communication.hpp). From the
// bytes of the chain, so without the padding of packets or the sums of tied parameters.
ProposedCommunication candidate_sends(const CandidateInput& input, const Candidate& candidate);

// Throws a UsageError with the rule if the schedule cannot run with these values.
Simulated simulate_candidate(const CandidateInput& input, const Candidate& candidate);

}  // namespace pipetrain
