// Pairs of sentences as samples: how a row is filled, and what does not fit the model.
#include "data/text/sentence_pairs.hpp"

#include "catch.hpp"
#include "data/loader.hpp"
#include "data_files.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

const std::string german_lines = "ein Hund rennt\nzwei Hunde\n\nein Mann sitzt im Park\nein Park\n";
const std::string english_lines = "a dog runs\ntwo dogs\na cat\na man sits in the park\na park\n";

std::string two_sided_model(
    int vocabulary,
    const std::string& keys = "padding = 0, inputs = [\"write\", \"keys\", \"source\"]") {
  const std::string v = std::to_string(vocabulary);
  return "name = \"m\"\ninput = { source = 32, target = 32, vocabulary = " + v + R"( }
layers = [
  { name = "read", kind = "embedding", embedding_dim = 4, inputs = ["source"] },
  { name = "keys", kind = "linear", out_features = 8 },
  { name = "write", kind = "embedding", embedding_dim = 4, inputs = ["target"] },
  { name = "cross", kind = "attention", heads = 2, )" +
         keys + R"( },
  { name = "head", kind = "linear", out_features = )" +
         v + " },\n]\n";
}

struct PairFiles {
  Folder folder;
  DataConfig config;
  PairFiles() {
    config.kind = DataKind::ParallelText;
    config.train_source = folder.write("a.de", german_lines);
    config.train_target = folder.write("a.en", english_lines);
    config.bucket_multiple = 8;
    config.batch_size = 2;
    config.shuffle = false;
  }
  Datasets open(const std::string& text = two_sided_model(36)) const {
    return open_datasets(config, read_model_text(text, "test"), 1);
  }
  std::string refused(const std::string& text) const {
    return message_of<UsageError>([&] { open(text); });
  }
};

}  // namespace

TEST_CASE("sentence pairs: rows are filled up with padding, labels with none", "[pairs]") {
  const PairFiles written;
  const Datasets data = written.open();
  REQUIRE(data.pieces);
  CHECK(data.train->size() == 4);
  CHECK(data.notes.size() == 1);
  CHECK(contains(data.notes[0], "4 pairs of sentences, 1 dropped: 1 with an empty side, 0 longer"));
  Loader loader(*data.train, {.order = {.batch_size = 2, .shuffle = false}}, 1);
  std::int64_t seen = 0;
  for (std::int64_t step = 0; step < loader.steps_per_epoch(); ++step) {
    const MiniBatch& batch = loader.get(step);
    const auto [source, target] = batch.lengths;
    CHECK(source % 8 == 0);
    CHECK(std::ssize(batch.tokens) == batch.samples * (source + target));
    CHECK(std::ssize(batch.classes) == batch.samples * target);
    std::int64_t labels = 0;
    for (int n = 0; n < batch.samples; ++n) {
      const std::int32_t* row = batch.tokens.data() + n * (source + target);
      const std::vector<Token> read(row, std::find(row, row + source, data.pieces->end()));
      CHECK(contains(german_lines, data.pieces->decode(read) + "\n"));
      CHECK(std::all_of(row + read.size() + 1, row + source, [](int token) { return token == 0; }));
      const std::int32_t *input = row + source, *label = batch.classes.data() + n * target;
      CHECK(input[0] == data.pieces->begin());
      std::int64_t length = 1;
      while (label[length - 1] != data.pieces->end()) {
        CHECK(input[length] == label[length - 1]);
        ++length;
      }
      const std::vector<Token> meant(label, label + length - 1);
      CHECK(contains(english_lines, data.pieces->decode(meant) + "\n"));
      CHECK(std::all_of(label + length, label + target, [](int c) { return c == kNoLabel; }));
      CHECK(std::all_of(input + length, input + target, [](int token) { return token == 0; }));
      labels += length;
    }
    CHECK(batch.labels == labels);
    CHECK(count_labels(batch, 0, batch.samples) == labels);
    seen += batch.samples;
    loader.release(step);
  }
  CHECK(seen == 4);
}

TEST_CASE("sentence pairs: a part of them by range, and by share and seed", "[pairs]") {
  PairFiles written;
  written.config.train_range = SampleRange{0, 3};
  written.config.validation_range = SampleRange{3, 4};
  const Datasets ranges = written.open();
  CHECK(ranges.train->size() == 3);
  CHECK(ranges.validation->size() == 1);
  written.config.train_range = written.config.validation_range = std::nullopt;
  written.config.validation_fraction = 0.5;
  const Datasets shares = written.open();
  CHECK(shares.train->size() == 2);
  CHECK(shares.validation->size() == 2);
}

TEST_CASE("sentence pairs: a model that does not fit is refused", "[pairs]") {
  const PairFiles written;
  CHECK(contains(written.refused(two_sided_model(36, "inputs = [\"write\", \"keys\"]")),
                 "token 0, which layer 'cross' does not leave out"));
  PairFiles odd;
  odd.config.bucket_multiple = 7;
  CHECK(contains(odd.refused(two_sided_model(36)), "data.bucket_multiple = 7"));
  PairFiles small;
  small.config.batch_tokens = 15;
  CHECK(contains(small.refused(two_sided_model(36)), "more than the 15 of a mini-batch"));
}
