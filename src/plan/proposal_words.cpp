#include "plan/proposal_words.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/counted.hpp"
#include "base/printable.hpp"

namespace pipetrain {
namespace {

// "fc6", or "38% of fc6" if a neighbour computes the rest.
std::string layer_text(const std::string& name, double share) {
  return share < 1 ? fmt::format("{:.0f}% of {}", 100 * share, printable(name)) : printable(name);
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
  std::int64_t devices = 0;
  for (const ProposedStage& stage : proposal.stages) devices += std::ssize(stage.devices);
  return fmt::format("{}: {} on {} ({})", proposal.objective,
                     counted(std::ssize(proposal.stages), "stage"), counted(devices, "device"),
                     replicas_text(proposal));
}

std::optional<Bottleneck> bottleneck_of(const Proposal& proposal) {
  if (proposal.stages.empty()) return std::nullopt;
  const auto transfer_ms = [](const ProposedStage& stage) { return stage.transfer_ms.value_or(0); };
  const auto slowest = std::ranges::max_element(proposal.stages, {}, &ProposedStage::time_ms),
             furthest = std::ranges::max_element(proposal.stages, {}, transfer_ms);
  const auto bounds = [&](double ms) { return ms >= proposal.bottleneck_ms * (1 - 1e-9); };
  const auto place = [&](auto at, bool transfer) {
    return Bottleneck{static_cast<std::size_t>(at - proposal.stages.begin()), transfer};
  };
  if (bounds(slowest->time_ms)) return place(slowest, false);
  if (bounds(transfer_ms(*furthest))) return place(furthest, true);
  return std::nullopt;
}

}  // namespace pipetrain
