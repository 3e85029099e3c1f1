// From the [data] table to data sets that fit the model: one row per kind.
#include <spdlog/fmt/fmt.h>

#include <array>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "data/formats.hpp"

namespace pipetrain {

namespace {

struct NamedFiles {
  DataFiles files;
  std::string_view inputs_key, labels_key;
};

using OpenFiles = std::unique_ptr<const Dataset> (*)(const DataFiles&, const Graph&);
using Draw = std::unique_ptr<const Dataset> (*)(const DrawOptions&, const Graph&);

void require(const std::filesystem::path& path, std::string_view key, std::string_view kind) {
  if (!path.empty()) return;
  throw UsageError(
      fmt::format("data.{} is missing: kind = \"{}\" reads its samples from files; write {} = "
                  "\"...\", relative to the config",
                  key, kind, key));
}

std::unique_ptr<const Dataset> part_of(std::shared_ptr<const Dataset> whole,
                                       const std::optional<SampleRange>& range,
                                       std::string_view key) {
  const std::int64_t size = whole->size();
  if (!range) return slice(std::move(whole), {0, size});
  if (range->first < 0 || range->first >= range->last || range->last > size)
    throw UsageError(
        fmt::format("data.{} = [{}, {}] is no part of the {} samples that are there; write "
                    "[first, last] with 0 <= first < last <= {}",
                    key, range->first, range->last, size, size));
  return slice(std::move(whole), *range);
}

Datasets open_files(OpenFiles open, const NamedFiles& train, const NamedFiles& validation,
                    const DataConfig& config, const Graph& graph) {
  require(train.files.inputs, train.inputs_key, config.kind);
  require(train.files.labels, train.labels_key, config.kind);
  const std::shared_ptr<const Dataset> whole = open(train.files, graph);
  Datasets datasets{part_of(whole, config.train_range, "train_range"), nullptr};
  if (!validation.files.inputs.empty() || !validation.files.labels.empty()) {
    require(validation.files.inputs, validation.inputs_key, config.kind);
    require(validation.files.labels, validation.labels_key, config.kind);
    datasets.validation =
        part_of(open(validation.files, graph), config.validation_range, "validation_range");
  } else if (config.validation_range) {
    datasets.validation = part_of(whole, config.validation_range, "validation_range");
  }
  return datasets;
}

Datasets open_drawn(Draw draw, const DataConfig& config, const Graph& graph, std::uint64_t seed) {
  if (config.train_samples < 1)
    throw UsageError(
        fmt::format("data.train_samples = {}: write at least 1", config.train_samples));
  if (config.validation_samples < 0)
    throw UsageError(fmt::format("data.validation_samples = {}: write 0 for none, or more",
                                 config.validation_samples));
  Datasets datasets{part_of(draw({config.train_samples, seed, "train"}, graph), config.train_range,
                            "train_range"),
                    nullptr};
  if (config.validation_samples > 0)
    datasets.validation = part_of(draw({config.validation_samples, seed, "validation"}, graph),
                                  config.validation_range, "validation_range");
  return datasets;
}

struct Kind {
  std::string_view name;
  Datasets (*open)(const DataConfig&, const Graph&, std::uint64_t seed);
};

constexpr std::array<Kind, 4> kinds = {{
    {"glyphs", [](const DataConfig& c, const Graph& g,
                  std::uint64_t seed) { return open_drawn(draw_glyphs, c, g, seed); }},
    {"idx",
     [](const DataConfig& c, const Graph& g, std::uint64_t) {
       return open_files(
           open_idx, {{c.train_images, c.train_labels}, "train_images", "train_labels"},
           {{c.validation_images, c.validation_labels}, "validation_images", "validation_labels"},
           c, g);
     }},
    {"npy",
     [](const DataConfig& c, const Graph& g, std::uint64_t) {
       return open_files(
           open_npy, {{c.train_inputs, c.train_labels}, "train_inputs", "train_labels"},
           {{c.validation_inputs, c.validation_labels}, "validation_inputs", "validation_labels"},
           c, g);
     }},
    {"synthetic", [](const DataConfig& c, const Graph& g,
                     std::uint64_t seed) { return open_drawn(draw_synthetic, c, g, seed); }},
}};

const Kind& find_kind(const std::string& name) {
  std::string known;
  for (const Kind& kind : kinds) {
    if (kind.name == name) return kind;
    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", kind.name);
  }
  throw UsageError(fmt::format("data.kind = \"{}\" is not one of {}", name, known));
}

}  // namespace

Datasets open_datasets(const DataConfig& config, const Graph& graph, std::uint64_t seed) {
  Datasets datasets = find_kind(config.kind).open(config, graph, seed);
  const std::int64_t samples = datasets.train->size();
  if (config.batch_size < 1)
    throw UsageError(fmt::format("data.batch_size = {}: write at least 1", config.batch_size));
  if (config.drop_last && config.batch_size > samples)
    throw UsageError(
        fmt::format("data.batch_size = {} is more than the {} training samples, and drop_last = "
                    "true drops what "
                    "fills no mini-batch; write batch_size = {} or less, or drop_last = false",
                    config.batch_size, samples, samples));
  return datasets;
}

}  // namespace pipetrain
