// The ways to run a model that BaPipe compares, one function for each kind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/bapipe/explore.hpp"
#include "plan/bapipe/schedules.hpp"

namespace pipetrain {

// A way to run the model; if it cannot run, `refused` says why.
struct BapipeCandidate {
  std::string what;
  std::string refused;
  Proposal proposal;  // without speed-ups and the comparison
};

// A cut into one stage per device, under one schedule and size of micro-batch. Also those that the
// search rejected for it: the balanced cut, if that does not fit or hide its transfers, and the
// same cut without a shared layer.
std::vector<BapipeCandidate> pipeline_candidates(const BapipeInput& input, const LayerChain& chain,
                                                 const BapipeSchedule& schedule);

// All devices have the whole model, share the micro-batches, and then add up gradients.
BapipeCandidate data_parallel_candidate(const BapipeInput& input, const LayerChain& chain);

// The time of a mini-batch on the fastest device alone.
double one_device_ms(const BapipeInput& input, const LayerChain& chain);
// The same on all devices side by side, whatever memory that takes.
double data_parallel_ms(const BapipeInput& input, const LayerChain& chain);

// By device: its own memory or the limit, whichever is smaller.
std::vector<std::optional<std::int64_t>> device_memory(const BapipeInput& input);
// "needs 3.0 MiB on device 'a', which has 2.0 MiB".
std::string too_large(const BapipeInput& input, int device, double bytes);

}  // namespace pipetrain
