#include "run/bleu_score.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/error.hpp"
#include "metrics/bleu.hpp"

namespace pipetrain {
namespace {

constexpr int sentences_at_once = 64;

std::vector<std::vector<Token>> encoded(const Pieces& pieces,
                                        const std::vector<std::string>& lines) {
  std::vector<std::vector<Token>> sentences;
  for (const std::string& line : lines) sentences.push_back(pieces.encode(line));
  return sentences;
}

TranslatorInput translator_input(const BleuScoreInput& in, std::size_t sentences) {
  return {.graph = in.graph,
          .backend = in.backend,
          .config = in.config,
          .pieces = *in.data.pieces,
          .sentences = std::clamp(static_cast<int>(sentences), 1, sentences_at_once)};
}

}  // namespace

BleuScore::BleuScore(const BleuScoreInput& in)
    : pieces_(in.data.pieces),
      sources_(encoded(
          *pieces_, read_lines(in.data.validation_lines->source, in.data.validation_lines->lines))),
      references_(read_lines(in.data.validation_lines->target, in.data.validation_lines->lines)),
      translator_(translator_input(in, sources_.size())) {
  if (sources_.size() != references_.size())
    throw DataError(fmt::format("{} has {} lines, but {} has {}",
                                in.data.validation_lines->source.string(), sources_.size(),
                                in.data.validation_lines->target.string(), references_.size()));
  for (std::vector<Token>& source : sources_)
    if (std::ssize(source) > translator_.most_pieces()) source.resize(translator_.most_pieces());
}

double BleuScore::of(const NamedTensors& parameters) {
  translator_.put_parameters(parameters);
  const std::vector<Translation> translations = translator_.translate(sources_);
  BleuCounts counts;
  for (std::size_t s = 0; s < sources_.size(); ++s)
    counts.add(pieces_->decode(translations[s].pieces), references_[s]);
  return bleu(counts).score;
}

std::unique_ptr<BleuScore> bleu_score(const BleuScoreInput& input) {
  if (input.config.validation.metric != Metric::Bleu || !input.data.validation_lines)
    return nullptr;
  return std::make_unique<BleuScore>(input);
}

}  // namespace pipetrain
