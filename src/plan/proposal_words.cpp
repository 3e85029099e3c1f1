#include "plan/proposal_words.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/bytes_text.hpp"
#include "base/counted.hpp"
#include "base/printable.hpp"

namespace pipetrain {
namespace {

// "fc6", or "38% of fc6" if a neighbour computes the rest.
std::string layer_text(const std::string& name, double share) {
  return share < 1 ? fmt::format("{:.0f}% of {}", 100 * share, printable(name)) : printable(name);
}

// What each device has of the model.
struct DeviceShare {
  std::vector<std::size_t> stages;
  double ms = 0;  // of a micro-batch
};

std::map<int, DeviceShare> shares_of(const Proposal& proposal) {
  std::map<int, DeviceShare> shares;
  for (std::size_t s = 0; s < proposal.stages.size(); ++s)
    for (const int device : proposal.stages[s].devices) {
      shares[device].stages.push_back(s);
      shares[device].ms += proposal.stages[s].time_ms;
    }
  return shares;
}

}  // namespace

std::string ms_text(double ms) {
  return ms >= 1e4 ? fmt::format("{:.0f} ms", ms) : fmt::format("{:.4g} ms", ms);
}

std::string layers_text(const ProposedStage& stage) {
  const int count = stage.last_layer - stage.first_layer + 1;
  const auto& names = stage.layer_names;
  if (names.empty()) return fmt::format("{} to {}", stage.first_layer, stage.last_layer);
  const std::string first = layer_text(names.front(), stage.first_share);
  if (count == 1) return first;
  return fmt::format("{} .. {} ({} layers)", first, layer_text(names.back(), stage.last_share),
                     count);
}

std::string devices_text(const std::vector<int>& devices) {
  std::string text;
  for (std::size_t i = 0; i < devices.size();) {
    std::size_t end = i + 1;
    while (end < devices.size() && devices[end] == devices[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : " ", devices[i]);
    if (end - i > 1) text += fmt::format("-{}", devices[end - 1]);
    i = end;
  }
  return text;
}

std::string title_text(const Proposal& proposal) {
  const std::map<int, DeviceShare> shares = shares_of(proposal);
  const std::string devices = counted(std::ssize(shares), "device"),
                    replicas = replicas_text(proposal);
  const std::int64_t each = shares.empty() ? 1 : std::ssize(shares.begin()->second.stages);
  if (each == 1)
    return fmt::format("{}: {} on {} ({})", proposal.objective,
                       counted(std::ssize(proposal.stages), "stage"), devices, replicas);
  return fmt::format("{}: {}, on {}{}", proposal.objective,
                     several_stages_text(std::ssize(shares), each), devices,
                     replicas == "straight" ? "" : fmt::format(" ({})", replicas));
}

std::string several_stages_text(std::int64_t workers, std::int64_t stages_each) {
  return fmt::format("{} with {}{}", counted(workers, "worker"), counted(stages_each, "stage"),
                     workers == 1 ? "" : " each");
}

std::string microbatches_text(const Proposal& proposal) {
  const std::string microbatches = counted(proposal.microbatches, "micro-batch");
  if (!proposal.minibatch_samples) return microbatches + " per mini-batch";
  return fmt::format("{} in a mini-batch of {}{}", microbatches,
                     counted(*proposal.minibatch_samples, "sample"),
                     proposal.samples_assumed ? " (assumed)" : "");
}

std::string speedup_text(const Proposal& proposal) {
  if (!proposal.speedup) return "unknown: the model does not fit one device";
  const std::string text = fmt::format("{:.2f} over one device", *proposal.speedup);
  if (!proposal.data_parallel_speedup) return text;
  const std::string on =
      proposal.data_parallel_devices
          ? fmt::format(" on {}", counted(*proposal.data_parallel_devices, "device"))
          : "";
  return fmt::format("{}; data parallel{} has {:.2f}", text, on, *proposal.data_parallel_speedup);
}

std::string held_text(const Proposal& proposal, std::size_t stage) {
  const std::size_t first = first_beside(proposal, stage);
  if (first != stage) return fmt::format("with stage {}", first);
  return bytes_text(static_cast<std::size_t>(proposal.stages[stage].memory_bytes.value_or(0)));
}

std::size_t first_beside(const Proposal& proposal, std::size_t stage) {
  const std::vector<int>& devices = proposal.stages[stage].devices;
  for (std::size_t s = 0; s < stage; ++s)
    if (!devices.empty() && std::ranges::find(proposal.stages[s].devices, devices.front()) !=
                                proposal.stages[s].devices.end())
      return s;
  return stage;
}

std::optional<Bottleneck> bottleneck_of(const Proposal& proposal) {
  if (proposal.stages.empty()) return std::nullopt;
  const auto transfer_ms = [](const ProposedStage& stage) { return stage.transfer_ms.value_or(0); };
  const auto bounds = [&](double ms) { return ms >= proposal.bottleneck_ms * (1 - 1e-9); };
  for (const auto& [device, share] : shares_of(proposal))
    if (bounds(share.ms)) return Bottleneck{.stages = share.stages, .device = device};
  const auto furthest = std::ranges::max_element(proposal.stages, {}, transfer_ms);
  if (!bounds(transfer_ms(*furthest))) return std::nullopt;
  const auto sender = static_cast<std::size_t>(furthest - proposal.stages.begin());
  return Bottleneck{.stages = {sender}, .transfer = true};
}

}  // namespace pipetrain
