// Reads one sentence per line, and writes its translation as one line, in the same order and with
// nothing else on standard output. Reads many lines ahead, which are translated together and then
// written: a program that sends one line at a time gets its answers when the input ends.
#include "app/translate.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "checkpoint/load.hpp"
#include "data/formats.hpp"
#include "data/text/line_stream.hpp"
#include "data/text/pieces.hpp"
#include "decode/translator.hpp"
#include "graph/lengths.hpp"
#include "graph/translation.hpp"
#include "run/trained.hpp"

namespace pipetrain {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t batches_ahead = 16;

std::filesystem::path pieces_of(const Config& config, const std::filesystem::path& weights) {
  if (!config.data.pieces.empty()) return config.data.pieces;
  if (const auto beside = pieces_beside(weights)) return *beside;
  throw DataError(
      fmt::format("{}: there is no pieces.model next to the weights; name the SentencePiece model "
                  "that they were "
                  "trained with: --set data.pieces='\"pieces.model\"'",
                  weights.string()));
}

// A model of pieces may have a piece for a line end.
std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '\r', ' ');
  return text;
}

struct Sentence {
  std::string text;
  std::vector<Token> pieces;
};

// Reads the lines of standard input as pieces that the model can read.
class Sentences {
 public:
  Sentences(const Pieces& pieces, std::int64_t most_pieces)
      : pieces_(pieces), most_(most_pieces), lines_(std::cin, "standard input") {}

  std::vector<Sentence> next(std::size_t count) {
    std::vector<Sentence> sentences;
    while (sentences.size() < count) {
      const auto line = lines_.next();
      if (!line) break;
      sentences.push_back({std::string(*line), pieces_.encode(*line)});
      cut(sentences.back().pieces);
    }
    return sentences;
  }

  void tell_cut() const {
    if (cut_ > 1) spdlog::warn("standard input: {} lines were cut to {} pieces each", cut_, most_);
  }

 private:
  void cut(std::vector<Token>& pieces) {
    if (std::ssize(pieces) <= most_) return;
    if (cut_++ == 0)
      spdlog::warn(
          "standard input:{}: the line has {} pieces, but the model reads at most {}: the rest is "
          "left out, here and in later lines",
          lines_.lines(), pieces.size(), most_);
    pieces.resize(most_);
  }

  const Pieces& pieces_;
  std::int64_t most_;
  LineStream lines_;
  std::int64_t cut_ = 0;
};

struct Translated {
  std::string text;
  double score = 0;
};

std::vector<Translated> translated(Translator& translator, const Pieces& pieces,
                                   const std::vector<Sentence>& sentences) {
  std::vector<std::vector<Token>> sources;
  for (const Sentence& sentence : sentences) sources.push_back(sentence.pieces);
  std::vector<Translated> lines;
  for (const Translation& translation : translator.translate(sources)) {
    if (!translation.finite)
      throw DataError(
          "the model's output is not finite: its training diverged; name other weights");
    lines.push_back({one_line(pieces.decode(translation.pieces)), translation.score});
  }
  return lines;
}

ordered_json json_of(const Sentence& sentence, const Translated& line) {
  ordered_json json = {{"source", sentence.text}, {"translation", line.text}, {"score", nullptr}};
  if (!sentence.pieces.empty()) json["score"] = line.score;
  return json;
}

}  // namespace

int translate(const Options& options, const ReadConfig& read, const Graph& graph) {
  const Config& config = read.config;
  (void)needs_to_translate(graph);  // refuses other models early
  const std::filesystem::path weights = weights_to_read(options, config);
  const std::filesystem::path file = pieces_of(config, weights);
  const Pieces pieces = Pieces::read(file);
  require_pieces(graph, pieces, file.string());
  const NamedTensors parameters = read_weights(weights, graph);
  const std::unique_ptr<Backend> backend =
      make_backend(config.hardware.backend, config.hardware.devices);
  const auto batch = static_cast<std::size_t>(options.batch);
  Sentences input(pieces, lengths_of(graph).source - 1);
  std::unique_ptr<Translator> translator;  // for at most as many sentences as there are
  auto translations = ordered_json::array();
  while (std::cout) {
    const std::vector<Sentence> sentences = input.next(batches_ahead * batch);
    if (sentences.empty()) break;
    if (!translator) {
      translator = std::make_unique<Translator>(
          TranslatorInput{.graph = graph,
                          .backend = *backend,
                          .config = config,
                          .pieces = pieces,
                          .beam = options.beam,
                          .length_penalty = options.length_penalty,
                          .sentences = static_cast<int>(std::min(batch, sentences.size()))});
      translator->put_parameters(parameters);
    }
    const std::vector<Translated> lines = translated(*translator, pieces, sentences);
    for (std::size_t s = 0; s < lines.size(); ++s)
      if (options.json)
        translations.push_back(json_of(sentences[s], lines[s]));
      else
        std::cout << lines[s].text << '\n';
    std::cout << std::flush;
  }
  input.tell_cut();
  if (options.json) {
    const ordered_json result = {{"model", weights.string()},
                                 {"beam", options.beam},
                                 {"length_penalty", options.length_penalty},
                                 {"translations", translations}};
    std::cout << json_text(result) << std::endl;
  }
  return 0;
}

}  // namespace pipetrain
