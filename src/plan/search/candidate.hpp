// One way to train a model on a cluster, and what its program says of it: each candidate of the
// search is its real program, walked through with the costs of its layers (compact_schedule.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/cluster/cluster.hpp"
#include "plan/layer_chain.hpp"
#include "plan/proposal.hpp"
#include "schedules.hpp"

namespace pipetrain {

// Layers in another order than the chain's: of a plan whose cuts part branches elsewhere.
struct LayerOrder {
  std::vector<int> layers;         // of the chain
  std::vector<double> sent_bytes;  // over a cut after each, of one sample; known at the plan's cuts
};
LayerChain reordered(const LayerChain& chain, const LayerOrder& order);

struct Candidate {
  const Schedule* schedule = nullptr;
  int workers = 1;       // the schedule's stages P; without replicas on devices 0 .. P - 1
  int microbatches = 1;  // per mini-batch
  int virtual_stages = 1;
  Warmup warmup = Warmup::OneFOneB;
  bool recompute = false;
  std::vector<int> firsts = {0};   // the first layer of each part of the model
  std::vector<int> replicas = {};  // of each of P; empty: one. Their devices are numbered in turn
  std::shared_ptr<const LayerOrder> order = {};  // null: the chain's

  int parts() const { return model_parts(*schedule, workers, virtual_stages); }
  int devices() const;
};
// "1f1b, 2 stages, 8 micro-batches"
std::string text_of(const Candidate& candidate);

struct CandidateInput {
  const LayerChain& chain;  // of the candidate's micro-batches
  const Cluster& cluster;
  // What training keeps per parameter besides its versions, in f32: its gradient, and the moments
  // of the optimizer.
  int copies_beside_weights = 2;
  std::optional<std::int64_t> memory_limit_bytes = {};  // of each device, besides its own memory
};

struct SimulatedStage {
  double compute_ms = 0;  // forward and backward of one micro-batch, shared by replicas
  int worker = 0;         // that has it; of several copies, the first one's
};

struct Simulated {
  double step_ms = 0;                  // of a mini-batch, in steady state
  double bottleneck_ms = 0;            // the slowest stage's micro-batch, or the slowest transfer's
  double bubble = 0;                   // idle share of the workers' time, in steady state
  std::vector<SimulatedStage> stages;  // per part of the model
  std::vector<std::int64_t> memory_bytes;  // per worker
  // The worker that is short of most memory, and how much; nothing where all fits.
  struct Shortage {
    int worker = 0;
    std::int64_t bytes = 0;
  };
  std::optional<Shortage> shortage = {};
};

// The workers hold this much: which is short of most, if any is.
void set_memory(Simulated& simulated, std::vector<std::int64_t> per_worker,
                const CandidateInput& input);

// What its workers will send until every replica had its turn (program/communication.hpp), of the
// chain's bytes: in f32 and without the padding of packets; no sums of tied parameters.
ProposedCommunication candidate_sends(const CandidateInput& input, const Candidate& candidate);

// UsageError if the schedule cannot run with these values: its rule.
Simulated simulate_candidate(const CandidateInput& input, const Candidate& candidate);

}  // namespace pipetrain
