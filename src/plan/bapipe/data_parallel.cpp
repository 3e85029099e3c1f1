// The alternative to a pipeline: every device trains the whole model on its share of the
// micro-batches, then all add up gradients in a ring, in which each sends 2(N-1)/N of the weights.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>

#include "plan/bapipe/candidate.hpp"

#include "graph/layer.hpp"

namespace pipetrain {
namespace {

struct WholeModel {
  double compute_ms = 0;  // for one micro-batch
  double saved_bytes = 0, parameter_bytes = 0;

  double bytes() const { return saved_bytes + kWeightCopies * parameter_bytes; }
};

WholeModel whole_model(const LayerChain& chain) {
  WholeModel whole;
  for (const ChainLayer& layer : chain.layers) {
    whole.compute_ms += layer.compute_ms();
    whole.saved_bytes += static_cast<double>(layer.saved_bytes);
    whole.parameter_bytes += static_cast<double>(layer.parameter_bytes);
  }
  return whole;
}

int microbatches_of(const BapipeInput& input, const LayerChain& chain) {
  return input.minibatch_samples / chain.microbatch_samples;
}

double all_reduce_ms(const Cluster& cluster, double bytes) {
  const int count = device_count(cluster);
  double narrowest = std::numeric_limits<double>::infinity();
  for (const Wire& wire : neighbour_wires(cluster, true))
    narrowest = std::min(narrowest, wire.bytes_per_second);
  return 1000 * 2.0 * (count - 1) / count * bytes / narrowest;
}

// Micro-batches are whole, so some devices may have one more: it counts on the slowest of them.
double replica_ms(const BapipeInput& input, const LayerChain& chain) {
  const int count = device_count(input.cluster);
  const int share = (microbatches_of(input, chain) + count - 1) / count;
  const double slowest =
      std::ranges::min_element(input.cluster.devices, {}, &Cluster::Device::speed)->speed;
  return share * whole_model(chain).compute_ms / slowest;
}

std::string replica_objection(const BapipeInput& input, double bytes) {
  const auto memory = device_memory(input);
  for (std::size_t d = 0; d < memory.size(); ++d)
    if (memory[d] && bytes > static_cast<double>(*memory[d]))
      return "the whole model " + too_large(input, static_cast<int>(d), bytes);
  return "";
}

}  // namespace

double one_device_ms(const BapipeInput& input, const LayerChain& chain) {
  const double fastest =
      std::ranges::max_element(input.cluster.devices, {}, &Cluster::Device::speed)->speed;
  return microbatches_of(input, chain) * whole_model(chain).compute_ms / fastest;
}

double data_parallel_ms(const BapipeInput& input, const LayerChain& chain) {
  return replica_ms(input, chain) +
         all_reduce_ms(input.cluster, whole_model(chain).parameter_bytes);
}

BapipeCandidate data_parallel_candidate(const BapipeInput& input, const LayerChain& chain) {
  const int count = device_count(input.cluster);
  const WholeModel whole = whole_model(chain);
  BapipeCandidate candidate;
  const int microbatches = microbatches_of(input, chain);
  candidate.what = fmt::format("data_parallel, {} micro-batch{} of {}", microbatches,
                               microbatches == 1 ? "" : "es", chain.microbatch_samples);
  candidate.refused = replica_objection(input, whole.bytes());
  Proposal& proposal = candidate.proposal;
  proposal.schedule = "data_parallel";
  proposal.workers = count;
  proposal.microbatches = microbatches_of(input, chain);
  proposal.step_ms = data_parallel_ms(input, chain);
  proposal.bottleneck_ms = proposal.step_ms / proposal.microbatches;
  ProposedStage stage{.last_layer = static_cast<int>(chain.layers.size()) - 1,
                      .replicas = count,
                      .devices = {},
                      .time_ms = replica_ms(input, chain) / proposal.microbatches,
                      .memory_bytes = static_cast<std::int64_t>(whole.bytes())};
  for (int d = 0; d < count; ++d) stage.devices.push_back(d);
  proposal.stages.push_back(stage);
  return candidate;
}

std::vector<std::optional<std::int64_t>> device_memory(const BapipeInput& input) {
  std::vector<std::optional<std::int64_t>> memory;
  for (const Cluster::Device& device : input.cluster.devices) {
    memory.push_back(device.memory_bytes);
    if (input.memory_limit_bytes)
      memory.back() =
          std::min(memory.back().value_or(*input.memory_limit_bytes), *input.memory_limit_bytes);
  }
  return memory;
}

std::string too_large(const BapipeInput& input, int device, double bytes) {
  constexpr double kMiB = 1 << 20;
  const auto d = static_cast<std::size_t>(device);
  const auto has = static_cast<double>(device_memory(input)[d].value_or(0));
  return fmt::format("needs {:.6g} MiB on device '{}', which has {:.6g} MiB: {:.6g} MiB too many",
                     bytes / kMiB, input.cluster.devices[d].name, has / kMiB, (bytes - has) / kMiB);
}

}  // namespace pipetrain
