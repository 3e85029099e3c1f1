// data.kind = "parallel_text": two files per part, the pieces for both languages, and a model that
// fits them.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "data/formats.hpp"
#include "data/split.hpp"
#include "data/text/pieces.hpp"
#include "data/text/sentence_pairs.hpp"
#include "data/text/train_pieces.hpp"
#include "graph/graph.hpp"
#include "graph/lengths.hpp"
#include "graph/traits.hpp"

namespace pipetrain {
namespace {

void require_two_sides(const Graph& graph) {
  if (graph.target_tokens == 0)
    throw UsageError(fmt::format(
        "data.kind: a pair of sentences has two sides, but the model's input is {}; name a model "
        "of two, input = {{ source = S, target = T, vocabulary = V }}",
        graph.input.text()));
  const Lengths longest = lengths_of(graph);
  if (std::min(longest.source, longest.target) < 2)
    throw UsageError(
        fmt::format("data.kind: a sentence needs room for a piece and for its end, but the model "
                    "reads at most {} and {} tokens; write source and target of 2 or more",
                    longest.source, longest.target));
  require_class_loss("data.kind", graph);
  const Shape& output = model_output(graph);
  if (output.dims.size() == 2 && output.dims[0] == graph.target_tokens) return;
  throw UsageError(fmt::format(
      "data.kind: each of {} tokens of the target has a next one to predict, but the model's "
      "output has shape {}; end it in a linear layer over [{}, features]",
      graph.target_tokens, output.text(), graph.target_tokens));
}

void require_vocabulary(const Graph& graph, const Pieces& pieces, const std::string& source) {
  const std::int64_t reads = graph.input.vocabulary, predicts = model_classes(graph);
  if (reads == pieces.size() && predicts == pieces.size()) return;
  throw UsageError(
      fmt::format("data.pieces: {} has {} pieces, but the model reads tokens of {} and predicts "
                  "{}; write vocabulary = {} and the same number of outputs in the model, or name "
                  "a SentencePiece model of {}",
                  source, pieces.size(), reads, predicts, pieces.size(), reads));
}

// The padding token that a layer leaves out; none if the layer can never see padding, which follows
// a sentence.
std::optional<std::int64_t> padding_seen(const Layer& layer) {
  const std::int64_t padding = traits_of(layer.spec).padding;
  if (padding < 0 && !reads_ahead(layer)) return std::nullopt;
  return padding;
}

// A layer that looks at a whole sentence must not count padding.
void require_padding(const Graph& graph, const Pieces& pieces) {
  for (const Layer& layer : graph.layers)
    if (const auto padding = padding_seen(layer); padding && *padding != pieces.pad())
      throw UsageError(fmt::format(
          "data.kind: sentences are padded with token {0}, which layer '{1}' does not leave out; "
          "give it padding = {0} and, as its last input, the tokens that it reads",
          pieces.pad(), layer.name));
}

void require_multiples(const Graph& graph, std::int64_t multiple) {
  const Lengths longest = lengths_of(graph);
  if (longest.source % multiple == 0 && longest.target % multiple == 0) return;
  throw UsageError(fmt::format(
      "data.bucket_multiple = {}: sentences are padded to multiples of it, but the model's longest "
      "are of {} and {} tokens; write multiples of {} in the model, or a divisor of both here",
      multiple, longest.source, longest.target, multiple));
}

std::shared_ptr<const Pieces> pieces_of(const DataConfig& config, const Graph& graph) {
  if (!config.pieces.empty()) return std::make_shared<const Pieces>(Pieces::read(config.pieces));
  const PieceTraining training{.files = {config.train_source, config.train_target},
                               .vocabulary = graph.input.vocabulary,
                               .kind = config.piece_kind};
  return std::make_shared<const Pieces>(train_pieces(training), "the training text");
}

std::vector<SampleId> in_range(const std::optional<SampleRange>& range, std::int64_t size,
                               std::string_view key) {
  const SampleRange part = range.value_or(SampleRange{0, size});
  if (part.first < 0 || part.first >= part.last || part.last > size)
    throw UsageError(
        fmt::format("data.{} = [{}, {}] is outside the pairs that are kept, {} in all; write "
                    "[first, last] with 0 <= first < last <= {}; last is not included",
                    key, part.first, part.last, size, size));
  std::vector<SampleId> pairs(part.last - part.first);
  std::iota(pairs.begin(), pairs.end(), part.first);
  return pairs;
}

// The line numbers in the files of the pairs `picked`, ascending.
std::vector<std::int64_t> lines_of(const ParallelText& text, const std::vector<SampleId>& picked) {
  std::vector<std::int64_t> lines;
  for (const SampleId pair : picked) lines.push_back(text.line(pair));
  return lines;
}

}  // namespace

void require_pieces(const Graph& graph, const Pieces& pieces, const std::string& source) {
  require_vocabulary(graph, pieces, source);
  require_padding(graph, pieces);
}

Datasets open_parallel_text(const DataConfig& config, const Graph& graph, std::uint64_t) {
  require_two_sides(graph);
  require_multiples(graph, config.bucket_multiple);
  const auto pieces = pieces_of(config, graph);
  require_pieces(graph, *pieces,
                 config.pieces.empty() ? "the model of the training text" : config.pieces.string());
  Datasets datasets;
  datasets.pieces = pieces;
  const Lengths longest = lengths_of(graph);
  const std::int64_t most = std::min(longest.source, longest.target) - 1;
  const auto read = [&](const std::filesystem::path& source, const std::filesystem::path& target) {
    const auto text =
        std::make_shared<const ParallelText>(ParallelFiles{source, target}, *pieces, *pieces, most);
    datasets.notes.push_back(fmt::format("{}: {}", source.string(), text_of(text->counts(), most)));
    return PairsInput{.text = text,
                      .pieces = pieces,
                      .source = source.string(),
                      .limits = {.tokens = config.batch_tokens, .multiple = config.bucket_multiple},
                      .input = graph.input,
                      .classes = model_classes(graph),
                      .labels = graph.target_tokens};
  };
  const PairsInput train = read(config.train_source, config.train_target);
  if (config.validation_fraction > 0) {
    SampleSplit split = split_as_configured(train.text->size(), config);
    datasets.validation_lines = {config.train_source, config.train_target,
                                 lines_of(*train.text, split.validation)};
    datasets.train = sentence_pairs(train, std::move(split.train));
    datasets.validation = sentence_pairs(train, std::move(split.validation));
    return datasets;
  }
  datasets.train =
      sentence_pairs(train, in_range(config.train_range, train.text->size(), "train_range"));
  if (config.validation_source.empty() && !config.validation_range) return datasets;
  PairsInput validation = train;
  const bool own_files = !config.validation_source.empty();
  if (!own_files)
    for (std::string& note : overlap_notes(config, train.text->size()))
      datasets.notes.push_back(std::move(note));
  if (own_files) validation = read(config.validation_source, config.validation_target);
  std::vector<SampleId> picked =
      in_range(config.validation_range, validation.text->size(), "validation_range");
  datasets.validation_lines = {own_files ? config.validation_source : config.train_source,
                               own_files ? config.validation_target : config.train_target,
                               {}};
  if (config.validation_range)
    datasets.validation_lines->lines = lines_of(*validation.text, picked);
  datasets.validation = sentence_pairs(validation, std::move(picked));
  return datasets;
}

}  // namespace pipetrain
