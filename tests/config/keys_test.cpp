// The table of keys: words and the enums behind them, and its columns.
#include "config/keys.hpp"

#include <algorithm>
#include <set>

#include "catch.hpp"
#include "config/fields.hpp"

using namespace pipetrain;
using namespace pipetrain::config;

TEST_CASE("each word of a key is read into its enumerator and written again") {
  int words = 0;
  for (const Key& key : keys()) {
    const auto* field = std::get_if<WordField>(&key.field);
    if (!field) continue;
    for (std::size_t i = 0; i < field->words.size(); ++i, ++words) {
      const std::string word(field->words[i]);
      CAPTURE(key.path, word);
      Config config;
      Problems problems;
      CHECK(read_field(key, {.data = word, .place = {}, .folder = {}}, config, problems));
      CHECK(problems.empty());
      CHECK(field->get(config) == static_cast<int>(i));
      CHECK(write_field(key, config) == quote(word));
    }
  }
  CHECK(words > 40);
}

TEST_CASE("words are in the order of their enumerators") {
  CHECK(word_of(DataKind::Idx) == "idx");
  CHECK(word_of(DataKind::ImageFolder) == "image_folder");
  CHECK(word_of(DataKind::ParallelText) == "parallel_text");
  CHECK(word_of(DataKind::Synthetic) == "synthetic");
  CHECK(word_of(CifarLabels::Coarse) == "coarse");
  CHECK(word_of(OnBadImage::Skip) == "skip");
  CHECK(word_of(Tokenizer::Bytes) == "bytes");
  CHECK(word_of(SplitRule::Uniform) == "uniform");
  CHECK(word_of(SplitRule::Parameters) == "parameters");
  CHECK(word_of(Warmup::Double) == "double");
  CHECK(word_of(Warmup::Full) == "full");
  CHECK(word_of(GradientRule::Recompute) == "recompute");
  CHECK(word_of(Recompute::Stage) == "stage");
  CHECK(word_of(MixRule::Share::Inverse) == "inverse");
  CHECK(word_of(MixRule::Share::PowerOfTwo) == "power_of_two");
  CHECK(word_of(MixRule::Share::Constant) == "constant");
  CHECK(word_of(OptimizerKind::Adam) == "adam");
  CHECK(word_of(OptimizerKind::AdamW) == "adamw");
  CHECK(word_of(Decayed::Matrices) == "matrices");
  CHECK(word_of(LrKind::Step) == "step");
  CHECK(word_of(LrKind::Cosine) == "cosine");
  CHECK(word_of(LrKind::InverseSqrt) == "inverse_sqrt");
  CHECK(word_of(Precision::Bf16) == "bf16");
  CHECK(word_of(OnNonfinite::Skip) == "skip");
  CHECK(word_of(Metric::Bleu) == "bleu");
  CHECK(word_of(Workers::Inline) == "inline");
  CHECK(word_of(Workers::Mpi) == "mpi");
  CHECK_FALSE(word_named<Workers>("gloo"));
}

TEST_CASE("a kind of data that reads files to validate by reads files to train on") {
  const auto kinds_of = [](SampleFiles samples) {
    std::set<std::string_view> kinds;
    for (const Key& key : keys())
      if (key.samples == samples) kinds.insert(key.only.begin(), key.only.end());
    return kinds;
  };
  const auto trained = kinds_of(SampleFiles::Train);
  CHECK(trained == kinds_of(SampleFiles::Validation));
  const auto& kinds = find_key("data.kind")->values;
  for (const std::string_view kind : kinds)
    CHECK(trained.contains(kind) == (kind != "glyphs" && kind != "synthetic"));
}

TEST_CASE("a run may be resumed elsewhere and for longer, and is the same training") {
  const auto where = {"hardware", "metrics"};
  const auto what = {"model",
                     "optimizer",
                     "lr_schedule",
                     "validation",
                     "pipeline.pipemare",
                     "pipeline.timeprest",
                     "pipeline.i_timeprest"};
  for (const Key& key : keys()) {
    CAPTURE(key.path);
    if (std::ranges::find(where, key.table()) != where.end())
      CHECK(key.on_resume == OnResume::MayDiffer);
    if (std::ranges::find(what, key.table()) != what.end()) CHECK(key.on_resume == OnResume::Same);
  }
  const auto of = [](std::string_view path) { return find_key(path)->on_resume; };
  CHECK(of("training.steps") == OnResume::NewLength);
  CHECK(of("training.epochs") == OnResume::NewLength);
  CHECK(of("training.seed") == OnResume::Same);
  CHECK(of("training.precision") == OnResume::Same);
  CHECK(of("pipeline.stages") == OnResume::MayDiffer);
  CHECK(of("pipeline.microbatches") == OnResume::Same);
  CHECK(of("pipeline.schedule") == OnResume::Same);
  CHECK(of("data.batch_size") == OnResume::Same);
  CHECK(of("data.decode_threads") == OnResume::MayDiffer);
  CHECK(of("checkpoint.every_steps") == OnResume::Same);
  CHECK(of("checkpoint.keep_best") == OnResume::MayDiffer);
}

// A dump writes keys in their order, and TOML has each table's header once.
TEST_CASE("the keys of a table follow each other") {
  std::set<std::string> tables;
  std::string table;
  for (const Key& key : keys()) {
    const std::string path(key.path);
    const std::string of_key = path.substr(0, path.rfind('.'));
    if (of_key == table) continue;
    table = of_key;
    CAPTURE(path);
    CHECK(tables.insert(table).second);
  }
  CHECK(tables.count("hardware.link") == 1);
}
