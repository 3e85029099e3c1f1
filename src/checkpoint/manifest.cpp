#include "checkpoint/manifest.hpp"

#include <spdlog/fmt/fmt.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "checkpoint/json_limits.hpp"

namespace pipetrain {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kFormat = "pipetrain checkpoint";
constexpr int kVersion = 1;
// Ours have 4 levels and 16 members. ordered_json searches all members of an object for one key.
constexpr JsonLimits kManifestLimits = {.depth = 8, .values = 1'000'000, .members = 100};

[[noreturn]] void refuse_manifest(const std::string& file, const std::string& why) {
  throw DataError(
      fmt::format("{}: not a valid manifest of a checkpoint: {}; resume from another checkpoint "
                  "(--resume PATH), or start over with --resume never",
                  file, printable(why)));
}

std::string hex(std::uint32_t value) { return fmt::format("{:08x}", value); }

std::uint32_t sum_of(const std::string& text) {
  FileSum sum;
  add_bytes(sum, text.data(), text.size());
  return sum.crc32;
}

Json json_of(const std::optional<ValidationResult>& v) {
  if (!v) return nullptr;
  Json json = {{"step", v->step}, {"epoch", v->epoch}, {"loss", v->loss}};
  if (v->accuracy) json["accuracy"] = *v->accuracy;
  if (v->top5) json["top5"] = *v->top5;
  if (v->bleu) json["bleu"] = *v->bleu;
  return json;
}

Json json_of(const DataSums& data) {
  Json json = {{"train_samples", data.train_samples},
               {"validation_samples", data.validation_samples},
               {"files", Json::array()}};
  for (const DataSum& file : data.files)
    json["files"].push_back({{"what", file.what},
                             {"files", file.files},
                             {"bytes", file.sum.bytes},
                             {"crc32", hex(file.sum.crc32)}});
  return json;
}

// Reads members one by one; refuses, by name, what is missing or of another type.
class Members {
 public:
  Members(const Json& json, std::string file) : json_(json), file_(std::move(file)) {
    if (!json.is_object()) refuse("an entry is not a JSON object");
  }

  [[noreturn]] void refuse(const std::string& why) const { refuse_manifest(file_, why); }
  bool has(const char* name) const { return json_.contains(name); }
  const Json& at(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) refuse(fmt::format("'{}' is missing", name));
    return *found;
  }
  std::string text(const char* name) const {
    if (!at(name).is_string()) refuse(fmt::format("'{}' is not a string", name));
    return at(name).get<std::string>();
  }
  std::uint64_t count(const char* name, std::uint64_t most) const {
    if (!at(name).is_number_unsigned() || at(name).get<std::uint64_t>() > most)
      refuse(fmt::format("'{}' is not a whole number from 0 to {}", name, most));
    return at(name).get<std::uint64_t>();
  }
  std::int64_t count(const char* name) const {
    return static_cast<std::int64_t>(count(name, std::numeric_limits<std::int64_t>::max()));
  }
  // A loss that is not finite is written as null.
  double number(const char* name) const {
    if (at(name).is_null()) return std::numeric_limits<double>::quiet_NaN();
    if (!at(name).is_number()) refuse(fmt::format("'{}' is not a number", name));
    return at(name).get<double>();
  }
  std::uint32_t checksum(const char* name) const {
    const std::string written = text(name);
    if (written.size() != 8 || written.find_first_not_of("0123456789abcdef") != written.npos)
      refuse(fmt::format("'{}' is not a checksum of eight hexadecimal digits", name));
    return static_cast<std::uint32_t>(std::stoul(written, nullptr, 16));
  }
  const Json& list(const char* name) const {
    if (!at(name).is_array()) refuse(fmt::format("'{}' is not a list", name));
    return at(name);
  }
  std::vector<std::string> texts(const char* name) const {
    std::vector<std::string> values;
    for (const Json& entry : list(name)) {
      if (!entry.is_string()) refuse(fmt::format("'{}' is not a list of strings", name));
      values.push_back(entry.get<std::string>());
    }
    return values;
  }
  Members object(const char* name) const { return {at(name), file_}; }
  std::optional<ValidationResult> validation(const char* name) const {
    if (at(name).is_null()) return std::nullopt;
    const Members v = object(name);
    ValidationResult result{v.count("step"), v.count("epoch"), v.number("loss")};
    if (v.has("accuracy")) result.accuracy = v.number("accuracy");
    if (v.has("top5")) result.top5 = v.number("top5");
    if (v.has("bleu")) result.bleu = v.number("bleu");
    return result;
  }

 private:
  const Json& json_;
  std::string file_;
};

Progress progress_of(const Members& m) {
  Progress progress;
  progress.step = m.count("step");
  progress.skipped = m.count("skipped_updates");
  progress.seconds = m.number("seconds");
  progress.last = m.validation("last_validation");
  progress.best = m.validation("best_validation");
  progress.without_progress = m.count("validations_without_progress");
  return progress;
}

std::optional<DataSums> data_of(const Members& m, const std::string& file) {
  if (!m.has("files")) return std::nullopt;
  DataSums data{m.count("train_samples"), m.count("validation_samples"), {}};
  for (const Json& entry : m.list("files")) {
    const Members f(entry, file);
    data.files.push_back({f.text("what"),
                          static_cast<std::uint64_t>(f.count("files")),
                          {static_cast<std::uint64_t>(f.count("bytes")), f.checksum("crc32")}});
  }
  return data;
}

std::vector<CheckpointFile> files_of(const Members& m, const std::string& file) {
  std::vector<CheckpointFile> files;
  std::set<std::string> names;
  for (const Json& entry : m.list("files")) {
    const Members f(entry, file);
    CheckpointFile one{f.text("name"),
                       {static_cast<std::uint64_t>(f.count("bytes")), f.checksum("crc32")},
                       f.texts("layers")};
    // A name from a file must not lead outside the folder.
    if (one.name.empty() || one.name.find('/') != one.name.npos ||
        one.name.find('\0') != one.name.npos || one.name.front() == '.')
      m.refuse("'files' has a name that is not a plain file name");
    if (!names.insert(one.name).second)
      m.refuse(fmt::format("file '{}' is listed twice", one.name));
    files.push_back(std::move(one));
  }
  return files;
}

}  // namespace

std::string manifest_text(const Manifest& manifest) {
  const Progress& p = manifest.progress;
  Json json = {{"format", kFormat},
               {"version", kVersion},
               {"model", manifest.model},
               {"step", p.step},
               {"epoch", manifest.epoch},
               {"skipped_updates", p.skipped},
               {"seconds", p.seconds},
               {"data", {{"next_minibatch", p.step}}},
               {"generator", {{"seed", manifest.seed}, {"keys", "seed, step, micro-batch, layer"}}},
               {"last_validation", json_of(p.last)},
               {"best_validation", json_of(p.best)},
               {"validations_without_progress", p.without_progress},
               {"files", Json::array()}};
  if (manifest.data) json["data"].update(json_of(*manifest.data));
  for (const CheckpointFile& file : manifest.files)
    json["files"].push_back({{"name", file.name},
                             {"bytes", file.sum.bytes},
                             {"crc32", hex(file.sum.crc32)},
                             {"layers", file.layers}});
  json["crc32"] = hex(sum_of(json.dump(2)));
  return json.dump(2) + "\n";
}

Manifest parse_manifest(const std::string& text, const std::string& file) {
  const std::string problem = json_problem(text, kManifestLimits);
  if (!problem.empty()) refuse_manifest(file, "it " + problem);
  Json json = Json::parse(text);
  const Members m(json, file);
  if (m.text("format") != kFormat) m.refuse("it was not written by pipetrain");
  if (m.count("version", 1u << 30) != kVersion)
    m.refuse(
        fmt::format("it has format {}, and this pipetrain reads {}", m.count("version"), kVersion));
  const std::uint32_t checksum = m.checksum("crc32");
  Manifest manifest;
  manifest.model = m.text("model");
  manifest.seed = m.object("generator").count("seed", std::numeric_limits<std::uint64_t>::max());
  manifest.epoch = m.count("epoch");
  manifest.progress = progress_of(m);
  manifest.data = data_of(m.object("data"), file);
  manifest.files = files_of(m, file);
  json.erase("crc32");
  const std::string bare = json.dump(2, ' ', false, Json::error_handler_t::replace);
  if (sum_of(bare) != checksum) m.refuse("its checksum does not match: it was changed or damaged");
  return manifest;
}

}  // namespace pipetrain
