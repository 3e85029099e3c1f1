#include "program/communication_json.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/bytes_text.hpp"

namespace pipetrain {
namespace {

using nlohmann::ordered_json;
using VolumeKind = Volume StageVolumes::*;

void put_lists(ordered_json& json, std::string_view name, std::span<const StageVolumes> stages,
               VolumeKind kind) {
  auto bytes = ordered_json::array(), messages = ordered_json::array();
  for (const StageVolumes& stage : stages) {
    bytes.push_back((stage.*kind).bytes);
    messages.push_back((stage.*kind).messages);
  }
  json[fmt::format("{}_bytes", name)] = bytes;
  json[fmt::format("{}_messages", name)] = messages;
}

}  // namespace

ordered_json communication_json(const Communication& communication) {
  const std::span<const StageVolumes> stages = communication.stages;
  const Volume total = communication.total(), tied = communication.of(&StageVolumes::tied);
  ordered_json json = {{"bytes", total.bytes}, {"messages", total.messages}};
  if (stages.size() > 1) {  // boundary b is between stages b and b + 1
    put_lists(json, "activation", stages.subspan(1), &StageVolumes::activations);
    put_lists(json, "gradient", stages.first(stages.size() - 1), &StageVolumes::gradients);
  }
  if (communication.of(&StageVolumes::all_reduce).messages > 0)
    put_lists(json, "all_reduce", stages, &StageVolumes::all_reduce);
  if (tied.messages > 0) {
    json["tied_bytes"] = tied.bytes;
    json["tied_messages"] = tied.messages;
  }
  if (const double seconds = communication.link_seconds(); seconds > 0)
    json["link_seconds"] = seconds;
  return json;
}

std::string communication_text(const Communication& communication) {
  const Volume total = communication.total();
  if (total.messages == 0) return "nothing";
  std::vector<std::string> parts;
  const auto add = [&](std::string_view name, VolumeKind kind) {
    const Volume sum = communication.of(kind);
    if (sum.messages > 0)
      parts.push_back(fmt::format("{} {}", name, bytes_text(static_cast<std::size_t>(sum.bytes))));
  };
  add("activations", &StageVolumes::activations);
  add("gradients", &StageVolumes::gradients);
  add("all-reduces", &StageVolumes::all_reduce);
  add("tied parameters", &StageVolumes::tied);
  return fmt::format("{} in {} message{}: {}", bytes_text(static_cast<std::size_t>(total.bytes)),
                     total.messages, total.messages == 1 ? "" : "s", fmt::join(parts, ", "));
}

}  // namespace pipetrain
