#include "profile/profile_json.hpp"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "checkpoint/json_limits.hpp"

namespace pipetrain {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int format_version = 6;
constexpr JsonLimits limits = {.depth = 8, .values = 10'000'000, .members = 64};

// One object of the file, and its place in it.
class JsonPlace {
 public:
  JsonPlace(const std::string& file, const json& value, std::string path)
      : file_(file), value_(value), path_(std::move(path)) {}

  [[noreturn]] void refuse(std::string_view key, std::string_view what) const {
    throw UsageError(fmt::format("{}: {}{}{} {}; measure again: pipetrain profile CONFIG", file_,
                                 path_, path_.empty() || key.empty() ? "" : ".", key, what));
  }
  const json& at(const char* key) const {
    if (!value_.is_object() || !value_.contains(key)) refuse(key, "is missing");
    return value_[key];
  }
  double number(const char* key) const {
    const json& value = at(key);
    if (!value.is_number()) refuse(key, "is not a number");
    const double number = value.get<double>();
    if (!std::isfinite(number) || number < 0) refuse(key, "is not a finite number of at least 0");
    return number;
  }
  std::int64_t count(const char* key) const {
    const double value = number(key);
    if (value != std::floor(value) || value > 9e15) refuse(key, "is not a whole number");
    return static_cast<std::int64_t>(value);
  }
  int small(const char* key) const {
    const std::int64_t value = count(key);
    if (value > std::numeric_limits<int>::max()) refuse(key, "is too large");
    return static_cast<int>(value);
  }
  std::string text(const char* key) const {
    const json& value = at(key);
    if (!value.is_string()) refuse(key, "is not a string");
    return value.get<std::string>();
  }
  std::vector<JsonPlace> list(const char* key) const {
    const json& value = at(key);
    if (!value.is_array()) refuse(key, "is not a list");
    std::vector<JsonPlace> places;
    for (std::size_t i = 0; i < value.size(); ++i)
      places.emplace_back(file_, value[i],
                          fmt::format("{}{}{}[{}]", path_, path_.empty() ? "" : ".", key, i));
    return places;
  }
  JsonPlace object(const char* key) const { return {file_, at(key), key}; }

 private:
  const std::string& file_;
  const json& value_;
  std::string path_;
};

ordered_json json_of(const LayerTimes& t) {
  return {{"forward_ms", t.forward_ms},
          {"backward_input_ms", t.backward_input_ms},
          {"first_weight_ms", t.first_weight_ms},
          {"backward_weight_ms", t.backward_weight_ms},
          {"update_ms", t.update_ms},
          {"pack_ms", t.pack_ms},
          {"fused_update_ms", t.fused_update_ms},
          {"cut_forward_ms", t.cut_forward_ms},
          {"cut_backward_ms", t.cut_backward_ms},
          {"split_backward_ms", t.split_backward_ms},
          {"spread", t.spread}};
}

LayerTimes times_at(const JsonPlace& at) {
  return {.forward_ms = at.number("forward_ms"),
          .backward_input_ms = at.number("backward_input_ms"),
          .first_weight_ms = at.number("first_weight_ms"),
          .backward_weight_ms = at.number("backward_weight_ms"),
          .update_ms = at.number("update_ms"),
          .pack_ms = at.number("pack_ms"),
          .fused_update_ms = at.number("fused_update_ms"),
          .cut_forward_ms = at.number("cut_forward_ms"),
          .cut_backward_ms = at.number("cut_backward_ms"),
          .split_backward_ms = at.number("split_backward_ms"),
          .spread = at.number("spread")};
}

ordered_json json_of(const ProfilePoint& point) {
  ordered_json json = {{"samples", point.samples},       {"threads", point.threads},
                       {"neighbours", point.neighbours}, {"microbatches", point.microbatches},
                       {"versions", point.versions},     {"held_bytes", point.held_bytes}};
  for (const LayerTimes& times : point.layers) json["layers"].push_back(json_of(times));
  json["load_ms"] = point.load_ms;
  json["loss_ms"] = point.loss_ms;
  json["loss_gradient_ms"] = point.loss_gradient_ms;
  json["rest_ms"] = point.rest_ms;
  return json;
}

ProfilePoint point_at(const JsonPlace& at, std::size_t layers) {
  ProfilePoint point{.samples = at.small("samples"),
                     .threads = at.small("threads"),
                     .neighbours = at.small("neighbours"),
                     .microbatches = at.small("microbatches"),
                     .versions = at.small("versions"),
                     .held_bytes = at.count("held_bytes"),
                     .layers = {},
                     .load_ms = at.number("load_ms"),
                     .loss_ms = at.number("loss_ms"),
                     .loss_gradient_ms = at.number("loss_gradient_ms"),
                     .rest_ms = at.number("rest_ms")};
  if (point.samples < 1) at.refuse("samples", "is below 1");
  for (const JsonPlace& layer : at.list("layers")) point.layers.push_back(times_at(layer));
  if (point.layers.size() != layers)
    at.refuse("layers", fmt::format("has {} entries for {} layers", point.layers.size(), layers));
  return point;
}

ProfileKey key_at(const JsonPlace& at) {
  return {.model = at.text("model"),
          .shapes = at.text("shapes"),
          .precision = at.text("precision"),
          .backend = at.text("backend"),
          .optimizer = at.text("optimizer"),
          .machine = at.text("machine"),
          .library = at.text("library")};
}

ProfiledLayer layer_at(const JsonPlace& at) {
  return {.name = at.text("name"),
          .kind = at.text("kind"),
          .sent_bytes = at.count("sent_bytes"),
          .saved_bytes = at.count("saved_bytes"),
          .parameter_bytes = at.count("parameter_bytes"),
          .flops = at.count("flops")};
}

json parsed(const std::string& text, const std::string& where) {
  const std::string problem = json_problem(text, limits);
  if (!problem.empty())
    throw UsageError(fmt::format("{}: not a profile: {}; measure again: pipetrain profile CONFIG",
                                 where, problem));
  return json::parse(text);
}

}  // namespace

ordered_json profile_json(const Profile& profile) {
  const ProfileKey& key = profile.key;
  ordered_json json = {{"pipetrain_profile", format_version},
                       {"key",
                        {{"model", key.model},
                         {"shapes", key.shapes},
                         {"precision", key.precision},
                         {"backend", key.backend},
                         {"optimizer", key.optimizer},
                         {"machine", key.machine},
                         {"library", key.library}}}};
  for (const ProfiledLayer& l : profile.layers)
    json["layers"].push_back({{"name", l.name},
                              {"kind", l.kind},
                              {"sent_bytes", l.sent_bytes},
                              {"saved_bytes", l.saved_bytes},
                              {"parameter_bytes", l.parameter_bytes},
                              {"flops", l.flops}});
  for (const ProfilePoint& point : profile.points) json["points"].push_back(json_of(point));
  for (const TransportTimes& t : profile.transports)
    json["transports"].push_back({{"name", t.name},
                                  {"handover_ms", t.handover_ms},
                                  {"bytes_per_second", t.bytes_per_second}});
  for (const MemoryRate& rate : profile.memory)
    json["memory"].push_back({{"bytes", rate.bytes}, {"bytes_per_second", rate.bytes_per_second}});
  return json;
}

Profile read_profile_json(const std::filesystem::path& file) {
  return parse_profile_json(read_whole_file(file), file.string());
}

Profile parse_profile_json(const std::string& text, const std::string& where) {
  const json whole = parsed(text, where);
  const JsonPlace top(where, whole, "");
  if (top.count("pipetrain_profile") != format_version)
    top.refuse("pipetrain_profile", fmt::format("is not {}", format_version));
  Profile profile{.key = key_at(top.object("key"))};
  for (const JsonPlace& layer : top.list("layers")) profile.layers.push_back(layer_at(layer));
  for (const JsonPlace& point : top.list("points"))
    profile.points.push_back(point_at(point, profile.layers.size()));
  if (profile.layers.empty() || profile.points.empty()) top.refuse("", "has no times");
  for (const JsonPlace& t : top.list("transports"))
    profile.transports.push_back({.name = t.text("name"),
                                  .handover_ms = t.number("handover_ms"),
                                  .bytes_per_second = t.number("bytes_per_second")});
  for (const JsonPlace& rate : top.list("memory")) {
    profile.memory.push_back(
        {.bytes = rate.count("bytes"), .bytes_per_second = rate.number("bytes_per_second")});
    const std::size_t n = profile.memory.size();
    if (n > 1 && profile.memory[n - 1].bytes <= profile.memory[n - 2].bytes)
      rate.refuse("bytes", "is not above the one before it");
  }
  return profile;
}

}  // namespace pipetrain
