#include "plan/bapipe/explore.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.hpp"
#include "base/error.hpp"
#include "plan/bapipe/candidate.hpp"

namespace pipetrain {
namespace {

constexpr double kEqual = 1.0005;  // a ratio that three digits print as 1

bool divides(const LayerChain& chain, const BapipeInput& input) {
  return input.minibatch_samples % chain.microbatch_samples == 0;
}

BapipeCandidate does_not_divide(const BapipeInput& input, const LayerChain& chain) {
  return {.what = fmt::format("micro-batches of {}", chain.microbatch_samples),
          .refused = fmt::format("a mini-batch of {} samples does not divide into them",
                                 input.minibatch_samples),
          .proposal = {}};
}

void check_input(const BapipeInput& input) {
  PIPETRAIN_CHECK(
      !input.chains.empty() && !input.cluster.devices.empty() && input.minibatch_samples >= 1,
      "nothing to explore: {} chains, {} devices, {} samples", input.chains.size(),
      input.cluster.devices.size(), input.minibatch_samples);
  for (const LayerChain& chain : input.chains)
    PIPETRAIN_CHECK(!chain.layers.empty() && chain.microbatch_samples >= 1 &&
                        chain.layers.size() == input.chains.front().layers.size(),
                    "a chain of {} layers for micro-batches of {}", chain.layers.size(),
                    chain.microbatch_samples);
}

std::vector<BapipeCandidate> candidates_of(const BapipeInput& input, const LayerChain& chain) {
  if (!divides(chain, input)) return {does_not_divide(input, chain)};
  const Execution platform = asynchronous(input.cluster) ? Execution::Async : Execution::Sync;
  std::vector<BapipeCandidate> candidates;
  for (const BapipeSchedule& schedule : bapipe_schedules())
    if (schedule.platform == platform)
      for (BapipeCandidate& one : pipeline_candidates(input, chain, schedule))
        candidates.push_back(std::move(one));
  candidates.push_back(data_parallel_candidate(input, chain));
  return candidates;
}

// The shortest step; the first of equal ones.
const BapipeCandidate* best_of(const std::vector<BapipeCandidate>& candidates) {
  const BapipeCandidate* best = nullptr;
  for (const BapipeCandidate& one : candidates)
    if (one.refused.empty() && (!best || one.proposal.step_ms < best->proposal.step_ms))
      best = &one;
  return best;
}

ComparedPlan compared_with(const BapipeCandidate& one, const BapipeCandidate& best) {
  ComparedPlan row{.what = one.what, .step_ms = {}, .reason = one.refused};
  if (!one.refused.empty()) return row;
  row.step_ms = one.proposal.step_ms;
  const double times = one.proposal.step_ms / best.proposal.step_ms;
  if (&one != &best)
    row.reason = times < kEqual ? "no faster" : fmt::format("takes {:.3f} times as long", times);
  return row;
}

[[noreturn]] void refuse_all(const std::vector<BapipeCandidate>& candidates) {
  std::string message = "bapipe finds no way to run this model on this cluster:";
  for (const BapipeCandidate& one : candidates)
    message += fmt::format("\n  {}: {}", one.what, one.refused);
  throw UsageError(message +
                   "\nwrite smaller micro-batches, a cluster with more or larger devices,"
                   " or a larger memory limit");
}

// The smallest over all sizes of micro-batch that fit the mini-batch.
double least(const BapipeInput& input, double (*time)(const BapipeInput&, const LayerChain&)) {
  double least_ms = std::numeric_limits<double>::infinity();
  for (const LayerChain& chain : input.chains)
    if (divides(chain, input)) least_ms = std::min(least_ms, time(input, chain));
  return least_ms;
}

std::int64_t in_proportion(std::int64_t bytes, double ratio) {
  return std::llround(static_cast<double>(bytes) * ratio);
}

}  // namespace

Proposal explore_bapipe(const BapipeInput& input) {
  check_input(input);
  std::vector<BapipeCandidate> candidates;
  for (const LayerChain& chain : input.chains)
    for (BapipeCandidate& one : candidates_of(input, chain)) candidates.push_back(std::move(one));
  const BapipeCandidate* best = best_of(candidates);
  if (!best) refuse_all(candidates);
  Proposal proposal = best->proposal;
  proposal.objective = "bapipe";
  const double alone_ms = least(input, one_device_ms);
  proposal.speedup = alone_ms / proposal.step_ms;
  proposal.data_parallel_speedup = alone_ms / least(input, data_parallel_ms);
  for (const BapipeCandidate& one : candidates)
    proposal.compared.push_back(compared_with(one, *best));
  return proposal;
}

LayerChain scaled_chain(const LayerChain& chain, int microbatch_samples) {
  const double ratio = static_cast<double>(microbatch_samples) / chain.microbatch_samples;
  LayerChain scaled = chain;
  scaled.microbatch_samples = microbatch_samples;
  for (ChainLayer& layer : scaled.layers) {
    layer.forward_ms *= ratio;
    layer.backward_input_ms *= ratio;
    layer.backward_weight_ms *= ratio;
    layer.sent_bytes = in_proportion(layer.sent_bytes, ratio);
    layer.saved_bytes = in_proportion(layer.saved_bytes, ratio);
  }
  return scaled;
}

}  // namespace pipetrain
