#include "plan/cluster/read.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "graph/fields.hpp"
#include "graph/model_text.hpp"
#include "graph/problems.hpp"
#include "plan/cluster/read_parts.hpp"

namespace pipetrain {
namespace {

using model_file::Fields;
using model_file::Problems;

// The readers of tables take a text that begins with '$' as a parameter of a model's block.
void refuse_parameters(const model_file::Value& value, Problems& problems) {
  if (const auto* text = std::get_if<std::string>(&value.data); text && text->starts_with('$'))
    problems.add(value.at, fmt::format("\"{}\" begins with '$'; begin it with a letter", *text));
  if (const auto* list = std::get_if<model_file::List>(&value.data))
    for (const model_file::Value& element : *list) refuse_parameters(element, problems);
  if (const auto* table = std::get_if<model_file::Table>(&value.data))
    for (const model_file::Entry& entry : *table) refuse_parameters(entry.value, problems);
}

std::string device_name(const Cluster& cluster, int device) {
  return cluster.devices[static_cast<std::size_t>(device)].name;
}

void check_reach(const Cluster& cluster, model_file::Position at, Problems& problems) {
  const auto apart = find_apart(cluster);
  if (!apart) return;
  problems.add(at, fmt::format("no path leads from device '{}' to '{}'; add a [[levels]] whose "
                               "group holds both, or a [[links]] with devices = [\"{}\", \"{}\"]",
                               device_name(cluster, apart->from), device_name(cluster, apart->to),
                               device_name(cluster, apart->from), device_name(cluster, apart->to)));
}

Cluster read_whole(const model_file::Value& text, const std::string& origin) {
  Problems problems(origin);
  refuse_parameters(text, problems);
  Fields fields(text, "the cluster", model_file::kNoTable, problems);
  Cluster cluster;
  cluster.name = fields.text("name", std::filesystem::path(origin).stem().string());
  const auto* devices = fields.list("devices");
  const auto* levels = fields.list("levels");
  const auto* links = fields.list("links");
  fields.finish();
  const bool none = devices ? devices->empty() : !fields.value("devices");
  if (none && !fields.misspelt("devices"))
    problems.add(text.at, "the cluster has no devices; write at least one [[devices]]");
  const cluster_file::DeviceNames names = cluster_file::read_devices(
      devices ? *devices : model_file::List{}, cluster.devices, problems);
  if (levels) cluster_file::read_levels(*levels, cluster, problems);
  if (links) cluster_file::read_links(*links, names, cluster, problems);
  problems.throw_if_any();
  check_reach(cluster, levels ? fields.at("levels") : text.at, problems);
  problems.throw_if_any();
  return cluster;
}

const ClusterPreset* find_preset(std::string_view name) {
  const auto presets = cluster_presets();
  const auto found = std::ranges::find(presets, name, &ClusterPreset::name);
  return found == presets.end() ? nullptr : &*found;
}

// What to write instead of a name that is neither a preset nor a file.
std::string other_clusters(const std::string& name) {
  std::vector<std::string_view> known;
  for (const ClusterPreset& preset : cluster_presets()) known.push_back(preset.name);
  const std::string near = suggest(name, known);
  return near.empty()
             ? fmt::format("; name a cluster file (TOML), or one of {}", fmt::join(known, ", "))
             : near;
}

}  // namespace

Cluster read_cluster_text(const std::string& toml, const std::string& origin) {
  return read_whole({{1, 1}, model_file::parse_model_text(toml, origin)}, origin);
}

Cluster read_cluster(const std::string& file_or_preset) {
  if (const ClusterPreset* preset = find_preset(file_or_preset))
    return read_cluster_text(std::string(preset->toml), std::string(preset->name));
  try {
    return read_cluster_text(read_whole_file(file_or_preset), file_or_preset);
  } catch (const CannotRead& error) {
    throw UsageError(fmt::format("--cluster {} cannot be read: {}{}", printable(file_or_preset),
                                 error.why(), other_clusters(file_or_preset)));
  }
}

}  // namespace pipetrain
