// Files of tokens with llm.c's header and without, plain and gzip. The first byte of the input says
// how many tokens the model knows: one more than it.
#include <vector>

#include "data/formats.hpp"
#include "graph/graph.hpp"
#include "target.hpp"

using namespace pipetrain;

namespace {

Graph model(std::int64_t vocabulary) {
  Graph graph;
  graph.input = {{3}, vocabulary};
  Layer last;
  last.name = "last";
  last.spec = Linear{.out_features = vocabulary};
  last.inputs = {ValueId{0}};
  last.output = {{3, vocabulary}};
  graph.layers.push_back(last);
  return graph;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  static fuzz::MemoryFile file;
  if (count == 0) return 0;
  const std::int64_t vocabulary = bytes[0] + 1;
  DataConfig config;
  config.kind = DataKind::Tokens;
  config.batch_size = 1;
  config.train_tokens = {file.holding(fuzz::text_of(bytes, count).substr(1))};
  return fuzz::refused_or_read([&] {
    const Datasets data = open_datasets(config, model(vocabulary), 1);
    for (std::int64_t i = 0; i < data.train->size(); ++i) {
      std::vector<std::int32_t> tokens(3, -1), labels(3, -1);
      data.train->read({.index = i}, {.tokens = tokens.data(), .classes = labels.data()});
      for (const std::int32_t token : tokens)
        fuzz::require(token >= 0 && token < vocabulary, "a token is one of the model's");
      for (const std::int32_t label : labels)
        fuzz::require(label >= 0 && label < vocabulary, "a label is a token of the model");
    }
  });
}
