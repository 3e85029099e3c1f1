// What a planner proposes: which layers run where, how long a step will take, what it was compared
// with and why the others lost. `pipetrain plan` prints it; `train` with `auto` follows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/communication.hpp"

namespace pipetrain {

struct ProposedStage {
  int first_layer = 0, last_layer = 0;  // of the chain, inclusive
  int replicas = 1;
  std::vector<int> devices = {};  // of the cluster; one per replica
  double time_ms = 0;             // forward and backward of one micro-batch, shared by the replicas
  // Of the replica that needs most, with all that its device holds for other stages; none if
  // unknown.
  std::optional<std::int64_t> memory_bytes = {};
  // The share of its first and of its last layer that this stage computes. If it is below 1, the
  // neighbour stage names the layer too and computes the rest (BaPipe), which nothing here can
  // train.
  double first_share = 1, last_share = 1;
  std::vector<std::string> layer_names = {};  // one per layer; empty if unknown
  std::optional<double> transfer_ms = {};     // to the next stage and back, for one micro-batch;
                                              // none if unknown, or if no stage comes next
};

// A way to run the model that was considered.
struct ComparedPlan {
  std::string what;                    // "1f1b_so, 8 micro-batches of 4"
  std::optional<double> step_ms = {};  // none if it cannot run
  std::string reason = {};             // why it was not chosen; empty: it was chosen
};

// What workers send in this many mini-batches.
struct ProposedCommunication {
  int minibatches = 1;
  Communication communication;
};

struct Proposal {
  std::string objective;  // pipedream | bapipe | simulate
  std::string schedule;
  int microbatches = 1;                       // per mini-batch
  std::optional<int> minibatch_samples = {};  // none if nothing depends on their number
  bool samples_assumed = false;               // because the profile does not say how many
  int workers = 0;                            // 0: one for each stage
  // Lines of [pipeline] that a config needs to run it, besides stages, micro-batches and split;
  // empty: the schedule's name is enough.
  std::string keys = {};
  std::vector<ProposedStage> stages;
  double step_ms = 0;                  // of one mini-batch
  double bottleneck_ms = 0;            // of the slowest device or transfer, per micro-batch
  std::optional<double> speedup = {};  // over one device; none if the model does not fit it
  // Of data parallelism over one device; none if that is unknown or data parallelism cannot run.
  std::optional<double> data_parallel_speedup = {};
  std::optional<int> data_parallel_devices = {};  // that it uses; none: all of the cluster's
  std::vector<ComparedPlan> compared;
  std::optional<ProposedCommunication> sends = {};  // none if unknown
};

// For tools: one JSON document with the keys in docs/planning.md.
std::string proposal_json(const Proposal& proposal);
// For people: the map of stages, what bounds the step, what it was compared with, and the keys for
// a config.
std::string proposal_text(const Proposal& proposal);

// "15-1": the replicas of each stage; "straight" if none has more than one.
std::string replicas_text(const Proposal& proposal);
// Why a plan was not chosen that takes this much longer than the chosen one.
std::string slower_text(double step_ms, double chosen_ms);

}  // namespace pipetrain
