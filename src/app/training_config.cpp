#include "app/training_config.hpp"

#include "run/session.hpp"
#include "run/trained.hpp"

namespace pipetrain {

ReadConfig read_training_config(const Options& options) {
  ReadConfig read = read_config(options.configs, options.sets);
  if (options.overfit_one_batch) read.config = overfit_one_batch(read.config);
  return read;
}

ReadConfig with_kept_tokens(ReadConfig read, const std::filesystem::path& checkpoint) {
  DataConfig& data = read.config.data;
  if (data.kind == DataKind::ParallelText && data.pieces.empty())
    data.pieces = pieces_beside(checkpoint).value_or("");
  if (data.kind == DataKind::Text && data.tokenizer != Tokenizer::Bytes && data.vocabulary.empty())
    data.vocabulary = vocabulary_beside(checkpoint).value_or("");
  return read;
}

}  // namespace pipetrain
