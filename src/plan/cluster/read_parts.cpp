#include "plan/cluster/read_parts.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/suggest.hpp"
#include "config/byte_size.hpp"
#include "graph/fields.hpp"

namespace pipetrain::cluster_file {
namespace {

using model_file::Fields;
using model_file::Problems;

constexpr std::int64_t kMostDevices = 4096;
const model_file::NumberRule kAboveZero = {[](double x) { return x > 0; }, "above 0"};
const model_file::NumberRule kFromZero = {[](double x) { return x >= 0; }, "of at least 0"};

std::optional<std::int64_t> read_memory(Fields& fields) {
  const model_file::Value* value = fields.value("memory");
  if (!value) return std::nullopt;
  if (const auto* bytes = std::get_if<std::int64_t>(&value->data); bytes && *bytes > 0)
    return *bytes;
  if (const auto* text = std::get_if<std::string>(&value->data))
    if (const auto bytes = config::parse_bytes(*text); bytes && *bytes > 0) return bytes;
  fields.wrong("memory", *value, "a size such as \"16GiB\", or a number of bytes above 0");
  return std::nullopt;
}

Wire read_wire(Fields& fields) {
  Wire wire;
  wire.bytes_per_second = fields.number("bandwidth", std::nullopt, kAboveZero);
  wire.latency_ms = fields.number("latency_us", 0, kFromZero) / 1000;
  wire.shared = fields.flag("shared", false);
  return wire;
}

// Adds the devices of one entry under their names.
struct DeviceList {
  std::vector<Cluster::Device>& devices;
  Problems& problems;
  DeviceNames names = {};

  void take(const std::string& name, std::vector<int> meant, model_file::Position at) {
    if (!name.empty() && !names.emplace(name, std::move(meant)).second)
      problems.add(at, fmt::format("the name '{}' is taken; give every device its own", name));
  }

  void add(const Cluster::Device& like, std::int64_t count, model_file::Position at) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), static_cast<int>(devices.size()));
    for (std::int64_t i = 0; i < count; ++i) {
      devices.push_back(like);
      if (count == 1) break;
      devices.back().name = fmt::format("{}-{}", like.name, i);
      take(devices.back().name, {all[static_cast<std::size_t>(i)]}, at);
    }
    take(like.name, all, at);
  }

  void read(const model_file::Value& entry) {
    Fields fields(entry, "devices", model_file::kNoTable, problems);
    Cluster::Device device;
    device.name = fields.text("name");
    const std::int64_t count = fields.size("count", 1);
    device.speed = fields.number("speed", 1, kAboveZero);
    device.memory_bytes = read_memory(fields);
    device.execution = fields.choice("execution", {"sync", "async"}) == "async" ? Execution::Async
                                                                                : Execution::Sync;
    fields.finish();
    if (std::ssize(devices) + count > kMostDevices)
      problems.add(fields.at("count"),
                   fmt::format("that is more than {} devices; write fewer", kMostDevices));
    else
      add(device, count, fields.at("name"));
  }
};

bool is_size(const model_file::Value& value) {
  const auto* size = std::get_if<std::int64_t>(&value.data);
  return size && *size >= 1 && *size <= kMostDevices;
}

// One [[levels]], over `parts` devices or groups of the level below; none if their number is
// unknown because of an earlier problem.
struct LevelReader {
  Fields fields;
  std::optional<int> parts;
  Problems& problems;

  void does_not_fit(std::string_view key, const std::string& instead) {
    problems.add(fields.at(key),
                 fmt::format("{}: {} does not fit the {} devices or groups below; {}",
                             fields.what(), key, *parts, instead));
  }

  // The sizes of groups that are alike.
  std::vector<int> even(const model_file::Value& written) {
    if (!is_size(written)) {
      fields.wrong("size", written, fmt::format("a whole number from 1 to {}", kMostDevices));
      return {};
    }
    const auto size = static_cast<int>(std::get<std::int64_t>(written.data));
    if (!parts) return {};
    if (*parts % size == 0) return std::vector<int>(static_cast<std::size_t>(*parts / size), size);
    does_not_fit("size",
                 "write a size that divides that number, or sizes = [..], a number for each group");
    return {};
  }

  std::vector<int> uneven(const model_file::Value& written) {
    const auto* list = std::get_if<model_file::List>(&written.data);
    std::vector<int> sizes;
    for (const model_file::Value& value : list ? *list : model_file::List{})
      if (is_size(value)) sizes.push_back(static_cast<int>(std::get<std::int64_t>(value.data)));
    if (!list || sizes.empty() || sizes.size() != list->size()) {
      fields.wrong("sizes", written, "a list of whole numbers from 1: [4, 2]");
      return {};
    }
    if (!parts) return {};
    if (std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) == *parts) return sizes;
    does_not_fit("sizes", fmt::format("write numbers that add up to {}", *parts));
    return {};
  }

  std::vector<int> read_sizes() {
    const model_file::Value* size = fields.value("size");
    const model_file::Value* sizes = fields.value("sizes");
    if (size && !sizes) return even(*size);
    if (sizes && !size) return uneven(*sizes);
    groups_unclear = true;
    return {};
  }

  // After finish(): a misspelt key was reported as such.
  void check_groups() {
    if (groups_unclear && !fields.misspelt("size") && !fields.misspelt("sizes"))
      problems.add(
          fields.at(),
          fmt::format("{}: write either size = 4, if its groups are alike, or sizes = [4, 2]",
                      fields.what()));
  }

  bool groups_unclear = false;
};

Cluster::Level read_level(const model_file::Value& entry, int number, std::optional<int> parts,
                          Problems& problems) {
  const std::string what = fmt::format("level {}", number);
  LevelReader reader{Fields(entry, what, model_file::kNoTable, problems), parts, problems};
  Cluster::Level level;
  level.name = reader.fields.text("name", what);
  level.sizes = reader.read_sizes();
  level.wire = read_wire(reader.fields);
  reader.fields.finish();
  reader.check_groups();
  return level;
}

// The devices that these names mean, ascending; none if a name means nothing.
std::vector<int> devices_named(const std::vector<std::string>& written, const DeviceNames& names,
                               model_file::Position at, Problems& problems) {
  std::set<int> devices;
  bool all_known = true;
  std::vector<std::string_view> known;
  for (const auto& [name, meant] : names) known.push_back(name);
  for (const std::string& name : written) {
    const auto found = names.find(name);
    if (found != names.end()) {
      devices.insert(found->second.begin(), found->second.end());
      continue;
    }
    all_known = false;
    problems.add(at, fmt::format("there is no device '{}'{}", name, suggest(name, known)));
  }
  if (!all_known) devices.clear();
  return {devices.begin(), devices.end()};
}

Cluster::Link read_link(const model_file::Value& entry, const DeviceNames& names,
                        Problems& problems) {
  Fields fields(entry, "a link", model_file::kNoTable, problems);
  const auto written = fields.texts("devices");
  Cluster::Link link;
  link.wire = read_wire(fields);
  const bool fine = fields.finish();
  if (written) link.devices = devices_named(*written, names, fields.at("devices"), problems);
  if (!written && !fields.misspelt("devices"))
    problems.add(fields.at(), "a link needs devices; write devices = [\"a\", \"b\"]");
  if (written && fine && link.devices.size() == 1)
    problems.add(fields.at("devices"), "a link joins two devices or more; name another device");
  return link;
}

}  // namespace

DeviceNames read_devices(const model_file::List& list, std::vector<Cluster::Device>& devices,
                         Problems& problems) {
  DeviceList reader{devices, problems};
  for (const model_file::Value& entry : list) reader.read(entry);
  return reader.names;
}

void read_levels(const model_file::List& list, Cluster& cluster, Problems& problems) {
  std::optional<int> parts;
  if (!problems.any()) parts = static_cast<int>(cluster.devices.size());
  std::set<std::string> names;
  for (const model_file::Value& entry : list) {
    const auto number = static_cast<int>(cluster.levels.size()) + 1;
    cluster.levels.push_back(read_level(entry, number, parts, problems));
    const Cluster::Level& level = cluster.levels.back();
    if (!names.insert(level.name).second)
      problems.add(entry.at, fmt::format("level {}: the name '{}' is taken; give every level its "
                                         "own",
                                         number, level.name));
    parts.reset();
    if (!level.sizes.empty()) parts = static_cast<int>(level.sizes.size());
  }
}

void read_links(const model_file::List& list, const DeviceNames& names, Cluster& cluster,
                Problems& problems) {
  for (const model_file::Value& entry : list)
    cluster.links.push_back(read_link(entry, names, problems));
}

}  // namespace pipetrain::cluster_file
