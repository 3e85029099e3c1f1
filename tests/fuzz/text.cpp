// Texts and vocabularies, plain and gzip. The first byte of the input says what the rest is: a text
// read by its own characters ('c') or by bytes ('b'), or a vocabulary ('v') that such a text is
// read by.
#include <vector>

#include "data/formats.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "target.hpp"

using namespace pipetrain;

namespace {

const Graph& model() {
  static const Graph graph = read_model_text(R"(
input = { tokens = 3, vocabulary = 256 }
layers = [{ name = "wte", kind = "embedding", embedding_dim = 1 },
          { name = "fc", kind = "linear", out_features = 256 }]
)",
                                             "text.toml");
  return graph;
}

void read_windows(const Dataset& data) {
  for (std::int64_t i = 0; i < data.size(); ++i) {
    std::vector<std::int32_t> tokens(3, -1), labels(3, -1);
    data.read({.index = i}, {.tokens = tokens.data(), .classes = labels.data()});
    for (std::size_t t = 0; t < 3; ++t) {
      fuzz::require(tokens[t] >= 0 && tokens[t] < 256, "a token is one of the model's");
      fuzz::require(t == 2 || labels[t] == tokens[t + 1], "a label is the next token");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  static fuzz::MemoryFile text, vocabulary;
  if (count == 0) return 0;
  const std::string_view rest = fuzz::text_of(bytes, count).substr(1);
  const bool is_vocabulary = bytes[0] == 'v';
  DataConfig config;
  config.kind = DataKind::Text;
  config.batch_size = config.stride = 1;
  if (bytes[0] == 'b') config.tokenizer = Tokenizer::Bytes;
  if (is_vocabulary) config.vocabulary = vocabulary.holding(rest);
  config.train_text = text.holding(is_vocabulary ? "abcab" : rest);
  return fuzz::refused_or_read([&] {
    const Datasets data = open_datasets(config, model(), 1);
    fuzz::require(Vocabulary::read(vocabulary.holding(data.vocabulary->json())) == *data.vocabulary,
                  "a vocabulary reads back equal");
    read_windows(*data.train);
  });
}
