// From the [data] table to data sets that fit the model: one row per kind.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "data/data_files.hpp"
#include "data/formats.hpp"
#include "data/image/augment.hpp"
#include "data/split.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

namespace {

using Opened = std::shared_ptr<const Dataset>;
using OpenPair = std::unique_ptr<const Dataset> (*)(const DataFiles&, const Graph&);
using Draw = std::unique_ptr<const Dataset> (*)(const DrawOptions&, const Graph&);

struct NamedFiles {
  DataFiles files;
  std::string_view inputs_key, labels_key;
};

void require(const std::filesystem::path& path, std::string_view key, DataKind kind) {
  if (!path.empty()) return;
  throw UsageError(
      fmt::format("data.{} is missing: kind = \"{}\" reads its samples from files; write {} = "
                  "\"...\", relative to the config",
                  key, word_of(kind), key));
}

std::unique_ptr<const Dataset> part_of(std::shared_ptr<const Dataset> whole,
                                       const std::optional<SampleRange>& range,
                                       std::string_view key) {
  const std::int64_t size = whole->size();
  if (!range) return slice(std::move(whole), {0, size});
  if (range->first < 0 || range->first >= range->last || range->last > size)
    throw UsageError(
        fmt::format("data.{} = [{}, {}] is outside the {}; write "
                    "[first, last] with 0 <= first < last <= {}; last is not included",
                    key, range->first, range->last, counted(size, "sample"), size));
  return slice(std::move(whole), *range);
}

// Training gets all samples except those that the seed picks for validation.
Datasets split_by_seed(const Opened& whole, const DataConfig& config) {
  SampleSplit split = split_as_configured(whole->size(), config);
  return {pick(whole, std::move(split.train)), pick(whole, std::move(split.validation))};
}

// By train_range and validation_range; the latter applies to `validation` if that exists, else to
// the training samples.
Datasets ranges_of(const Opened& train, const Opened& validation, const DataConfig& config) {
  Datasets datasets{part_of(train, config.train_range, "train_range"), nullptr};
  if (!validation) datasets.notes = overlap_notes(config, train->size());
  if (validation || config.validation_range)
    datasets.validation =
        part_of(validation ? validation : train, config.validation_range, "validation_range");
  return datasets;
}

// The parts that the config asks for, from the training files, and from `validation` if it has
// files of its own.
Datasets parts_of(const Opened& train, const Opened& validation, const DataConfig& config) {
  if (config.validation_fraction > 0) return split_by_seed(train, config);
  return ranges_of(train, validation, config);
}

// Windows over text or tokens: neighbouring windows overlap, so the last part is held out, whatever
// the seed.
Datasets open_sequences(Sequences read, const DataConfig& config, const Graph& graph) {
  if (config.validation_fraction > 0)
    read = hold_out_tails(std::move(read), config.validation_fraction);
  const Opened train = windows_of(std::move(read.train), config.stride, graph);
  const Opened validation =
      read.validation.empty() ? nullptr : windows_of(std::move(read.validation), 0, graph);
  Datasets datasets = ranges_of(train, validation, config);
  datasets.vocabulary = std::move(read.vocabulary);
  return datasets;
}

Opened open_pair(OpenPair open, const NamedFiles& named, const DataConfig& config,
                 const Graph& graph) {
  require(named.files.inputs, named.inputs_key, config.kind);
  require(named.files.labels, named.labels_key, config.kind);
  return open(named.files, graph);
}

Datasets open_pairs(OpenPair open, const NamedFiles& train, const NamedFiles& validation,
                    const DataConfig& config, const Graph& graph) {
  const Opened whole = open_pair(open, train, config, graph);
  const bool named = !validation.files.inputs.empty() || !validation.files.labels.empty();
  return parts_of(whole, named ? open_pair(open, validation, config, graph) : nullptr, config);
}

Datasets open_cifar_files(const DataConfig& config, const Graph& graph, std::uint64_t seed) {
  const CifarKind& kind = cifar_kind(config.kind, config.labels);
  if (config.train_files.empty()) require({}, "train_files", config.kind);
  const Opened train = open_cifar(config.train_files, kind, graph);
  Datasets parts = parts_of(
      train,
      config.validation_files.empty() ? nullptr : open_cifar(config.validation_files, kind, graph),
      config);
  return {augmented(std::move(parts.train), training_augment(config, graph.input, seed)),
          augmented(std::move(parts.validation), validation_augment(config, graph.input))};
}

std::unique_ptr<const Dataset> draw_samples(Draw draw, const DrawOptions& options,
                                            const Graph& graph) {
  try {
    return draw(options, graph);
  } catch (const std::bad_alloc&) {
    throw UsageError(
        fmt::format("data.{}_samples = {} do not fit in this machine's memory; write "
                    "fewer",
                    options.part, options.samples));
  }
}

Datasets open_drawn(Draw draw, const DataConfig& config, const Graph& graph, std::uint64_t seed) {
  if (config.train_samples < 1)
    throw UsageError(
        fmt::format("data.train_samples = {}: write at least 1", config.train_samples));
  if (config.validation_samples < 0)
    throw UsageError(fmt::format("data.validation_samples = {}: write 0 for none, or more",
                                 config.validation_samples));
  Datasets datasets{part_of(draw_samples(draw, {config.train_samples, seed, "train"}, graph),
                            config.train_range, "train_range"),
                    nullptr};
  if (config.validation_samples > 0)
    datasets.validation =
        part_of(draw_samples(draw, {config.validation_samples, seed, "validation"}, graph),
                config.validation_range, "validation_range");
  return datasets;
}

struct Kind {
  DataKind kind;
  Datasets (*open)(const DataConfig&, const Graph&, std::uint64_t seed);
};

constexpr std::array<Kind, 10> kinds = {{
    {DataKind::Glyphs, [](const DataConfig& c, const Graph& g,
                          std::uint64_t seed) { return open_drawn(draw_glyphs, c, g, seed); }},
    {DataKind::Idx,
     [](const DataConfig& c, const Graph& g, std::uint64_t) {
       return open_pairs(
           open_idx, {{c.train_images, c.train_labels}, "train_images", "train_labels"},
           {{c.validation_images, c.validation_labels}, "validation_images", "validation_labels"},
           c, g);
     }},
    {DataKind::Cifar10, open_cifar_files},
    {DataKind::Cifar100, open_cifar_files},
    {DataKind::ImageFolder, open_image_folder},
    {DataKind::Npy,
     [](const DataConfig& c, const Graph& g, std::uint64_t) {
       return open_pairs(
           open_npy, {{c.train_inputs, c.train_labels}, "train_inputs", "train_labels"},
           {{c.validation_inputs, c.validation_labels}, "validation_inputs", "validation_labels"},
           c, g);
     }},
    {DataKind::Text,
     [](const DataConfig& c, const Graph& g, std::uint64_t) {
       require(c.train_text, "train_text", c.kind);
       return open_sequences(read_text(c, g), c, g);
     }},
    {DataKind::Tokens,
     [](const DataConfig& c, const Graph& g, std::uint64_t) {
       if (c.train_tokens.empty()) require({}, "train_tokens", c.kind);
       return open_sequences(read_tokens(c, g), c, g);
     }},
    {DataKind::ParallelText, open_parallel_text},
    {DataKind::Synthetic,
     [](const DataConfig& c, const Graph& g, std::uint64_t seed) {
       return open_drawn(draw_synthetic, c, g, seed);
     }},
}};

const Kind& find_kind(DataKind wanted) {
  const auto found = std::ranges::find(kinds, wanted, &Kind::kind);
  PIPETRAIN_CHECK(found != kinds.end(), "nothing opens data.kind = \"{}\"", word_of(wanted));
  return *found;
}

}  // namespace

Datasets open_datasets(const DataConfig& config, const Graph& graph, std::uint64_t seed) {
  check_fetched(config);
  Datasets datasets = find_kind(config.kind).open(config, graph, seed);
  if (datasets.pieces) return datasets;  // its mini-batches are grouped by length
  const std::int64_t samples = datasets.train->size();
  if (config.batch_size < 1)
    throw UsageError(fmt::format("data.batch_size = {}: write at least 1", config.batch_size));
  if (config.drop_last && config.batch_size > samples)
    throw UsageError(fmt::format(
        "data.batch_size = {} is more than the {}, and drop_last = true drops an incomplete "
        "mini-batch; write batch_size = {}{}, or drop_last = false",
        config.batch_size, counted(samples, "training sample"), samples,
        samples == 1 ? "" : " or less"));
  return datasets;
}

}  // namespace pipetrain
