// `text`: a file of text, plain or gzip, read by characters or by bytes (data/text/vocabulary.hpp).
#include <spdlog/fmt/fmt.h>

#include <utility>

#include "base/error.hpp"
#include "data/byte_file.hpp"
#include "data/formats.hpp"
#include "data/text/windows.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

namespace {

using Bytes = std::vector<std::uint8_t>;

std::string_view text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Vocabulary vocabulary_for(const DataConfig& config, const Bytes& train) {
  if (!config.vocabulary.empty()) return Vocabulary::read(config.vocabulary);
  if (config.tokenizer == Tokenizer::Bytes) return Vocabulary::of_bytes();
  return Vocabulary::of_characters(text_of(train), config.train_text.string());
}

void check_vocabulary(const Vocabulary& vocabulary, const std::string& source, const Graph& graph) {
  if (vocabulary.size() <= model_vocabulary(graph)) return;
  throw UsageError(fmt::format(
      "{}: the text has {} different tokens, but the model reads {} and predicts {}; write "
      "vocabulary = {} in the model's input, and the same number of out_features in its last layer",
      source, vocabulary.size(), graph.input.vocabulary, model_classes(graph), vocabulary.size()));
}

TokenSpan span_of(const Vocabulary& vocabulary, const Bytes& bytes,
                  const std::filesystem::path& file) {
  auto tokens =
      std::make_shared<const std::vector<Token>>(vocabulary.tokens(text_of(bytes), file.string()));
  const auto count = static_cast<std::int64_t>(tokens->size());
  return {std::move(tokens), 0, count, file};
}

}  // namespace

Sequences read_text(const DataConfig& config, const Graph& graph) {
  require_token_model(config.train_text.string(), graph);
  const Bytes text = ByteFile(config.train_text).read_all();
  const Vocabulary vocabulary = vocabulary_for(config, text);
  check_vocabulary(vocabulary, config.train_text.string(), graph);
  Sequences sequences{{span_of(vocabulary, text, config.train_text)},
                      {},
                      std::make_shared<const Vocabulary>(vocabulary)};
  if (!config.validation_text.empty())
    sequences.validation = {
        span_of(vocabulary, ByteFile(config.validation_text).read_all(), config.validation_text)};
  return sequences;
}

Vocabulary text_vocabulary(const DataConfig& config) {
  if (config.tokenizer == Tokenizer::Bytes || !config.vocabulary.empty())
    return vocabulary_for(config, {});
  return vocabulary_for(config, ByteFile(config.train_text).read_all());
}

}  // namespace pipetrain
