// What a simulation charges for compute and for transfers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "program/program.hpp"

namespace pipetrain {

// For one micro-batch on one stage, in any unit. A backward that is not split takes both halves.
struct StageCosts {
  double forward = 1;
  double backward_input = 1;
  double backward_weight = 1;
  double transfer = 0;  // over the boundary to the next stage, activation or gradient
  double tail = 0;      // the part of backward_weight that comes after a head's send
  double update = 0;    // once per mini-batch
  // Set if a gradient takes a different time from an activation.
  std::optional<double> gradient_transfer = {};
  // Only simulations over channels use these two: a message's latency, during which its channel is
  // free, and the time to sum the gradients that an update waits for, once all have been handed in.
  double latency = 0, all_reduce = 0;
  double split = 0;  // what a weight half takes longer if it does not follow its input half
};

// The time of an instruction that computes or updates; 0 for any other.
double time_of(const StageCosts& costs, Op op);

// What makes one instruction take longer than another. A time is multiplied by the `slowdown` of
// its worker and by a random factor of mean 1, exp(z jitter - jitter^2 / 2) with a normal z. The
// factor belongs to the work (seed, stage, micro-batch, forward or backward), whichever worker does
// it and whenever, so every schedule gets the same factors. Updates and transfers have none.
struct Disturbance {
  std::vector<double> slowdown = {};  // per worker, 2: takes twice as long; empty: 1 for each
  double jitter = 0;                  // the standard deviation of the factor's logarithm
  std::uint64_t seed = 1;
  bool none() const { return slowdown.empty() && jitter == 0; }
};
double factor_of(const Disturbance& disturbance, WorkerId worker, StageId stage,
                 MicrobatchId microbatch, Op op);

// What a transfer occupies, and what a worker may do at once.
enum class Charges {
  Channels,   // a transfer occupies its channel alone; a worker does one thing after the other
  Workers,    // a transfer occupies both of its workers (BaPipe's 1F1B-SNO, program/rendezvous.hpp)
  SideBySide  // forwards and backwards share a worker (BaPipe's FBP-AS, program/sharing.hpp)
};

struct Costs {
  StageCosts all;
  std::vector<StageCosts> per_stage = {};  // empty: `all` for each
  Disturbance disturbance = {};

  Charges charges = Charges::Channels;

  // Only summarize uses these (program/summarize.hpp), and only if transfers are charged to
  // channels or to workers.
  //
  // Which link each boundary uses, by number; -1: one of its own. Empty: each has its own.
  // Transfers on a shared link take turns, first come, first served.
  struct SharedLinks {
    std::vector<int> activations = {}, gradients = {};
    bool none() const { return activations.empty() && gradients.empty(); }
  } links = {};

  const StageCosts& of(StageId s) const { return per_stage.empty() ? all : per_stage[s.value]; }
};

}  // namespace pipetrain
