// Data that changed between two starts of a run: found by sizes, counts and contents, and trained
// on only if that is asked for.
#include <fstream>

#include "catch.hpp"
#include "run_folder.hpp"

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::string images_file(std::uint32_t count) {
  std::string bytes = big_endian(0x803) + big_endian(count) + big_endian(4) + big_endian(4);
  for (std::uint32_t i = 0; i < 16 * count; ++i) bytes += static_cast<char>(i * 37 % 251);
  return bytes;
}

std::string labels_file(std::uint32_t count) {
  std::string bytes = big_endian(0x801) + big_endian(count);
  for (std::uint32_t i = 0; i < count; ++i) bytes += static_cast<char>(i % 3);
  return bytes;
}

constexpr const char* kImages = R"(
[model]
name = "small"
input = { shape = [1, 4, 4] }
layers = [
  { name = "flat", kind = "flatten" },
  { name = "fc", kind = "linear", out_features = 3 },
]
[data]
kind = "idx"
train_images = "images"
train_labels = "labels"
batch_size = 4
[training]
epochs = 2
[validation]
every_epochs = 0
[checkpoint]
every_steps = 2
)";

// A small model of tokens, 8 of them, with these lines in [data].
std::string token_config(const std::string& data) {
  return R"(
[model]
name = "tokens"
input = { tokens = 4, vocabulary = 8 }
layers = [
  { name = "embed", kind = "embedding", embedding_dim = 4 },
  { name = "head", kind = "linear", out_features = 8 },
]
loss = "cross_entropy"
[training]
steps = 4
[validation]
every_epochs = 0
[checkpoint]
every_steps = 2
[data]
batch_size = 2
)" + data;
}

// A run of 4 steps or more that was killed after the save of step 2.
struct KilledRun {
  TestFolder folder;
  fs::path run = folder.path / "run", config;

  Ran train(const std::string& options = "") const {
    return run_binary("train " + config.string() + " --output " + run.string() + " " + options);
  }
  std::string weights() const { return bytes_of(run / "model.safetensors"); }
  void begin(const std::string& text) {
    config = folder.write("small.toml", text);
    const Ran whole = train("--quiet --set checkpoint.keep_latest=9");
    INFO(whole.err);
    REQUIRE(whole.code == 0);
  }
  void cut() const {
    fs::remove(run / "model.safetensors");
    for (const std::string& name : files_of(run / "checkpoints"))
      if (name.starts_with("step-") && name != "step-00000002")
        fs::remove_all(run / "checkpoints" / name);
  }
};

struct ImageRun : KilledRun {
  ImageRun() {
    folder.write("images", images_file(12));
    folder.write("labels", labels_file(12));
    begin(kImages);
  }
};

void set_byte(const fs::path& file, std::streamoff at, char value) {
  std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(at);
  out.put(value);
  REQUIRE(out.good());
}

}  // namespace

TEST_CASE(
    "one changed byte of the data: exit 2, nothing lost, and with restored data the run resumes") {
  const ImageRun r;
  const std::string whole = r.weights();
  r.cut();
  const std::string metrics = bytes_of(r.run / "metrics.jsonl");
  r.folder.write("labels", labels_file(12).replace(12, 1, 1, '\2'));
  const Ran refused = r.train();
  CHECK(refused.code == 2);
  CHECK(has(refused.err, "step-00000002: the data have changed since:\n  data.train_labels: "));
  CHECK(has(refused.err, "the same number of files and bytes, but other content"));
  CHECK(has(refused.err, "--accept-changed-data"));
  CHECK(!has(refused.err, "data.train_images"));
  CHECK(bytes_of(r.run / "metrics.jsonl") == metrics);
  r.folder.write("labels", labels_file(12));
  REQUIRE(r.train("--quiet").code == 0);
  CHECK((r.weights() == whole));
}

TEST_CASE("a text that has grown keeps the tokens that the weights were trained on") {
  KilledRun r;
  const std::string text = "bcd dcb bdc cbd bcd dcb bdc cbd";
  r.folder.write("words.txt", text);
  r.begin(token_config("kind = \"text\"\ntrain_text = \"words.txt\"\n"));
  r.cut();
  const std::string vocabulary = bytes_of(r.run / "vocabulary.json");
  r.folder.write("words.txt", text + " abc");  // a new character before all others
  const Ran refused = r.train("--accept-changed-data");
  CHECK(refused.code == 3);
  CHECK(has(refused.err, "the character 'a' (U+0061) is not one of the 4 in the vocabulary"));
  r.folder.write("words.txt", text + " dbc");
  REQUIRE(r.train("--accept-changed-data --quiet").code == 0);
  CHECK(bytes_of(r.run / "vocabulary.json") == vocabulary);
}

TEST_CASE("accepted changes are trained on, reported, and count as the run's data from then on") {
  const ImageRun r;
  const std::string whole = r.weights();
  r.cut();
  r.folder.write("labels", labels_file(12).replace(12, 1, 1, '\2'));
  const Ran accepted = r.train("--accept-changed-data");
  CHECK(accepted.code == 0);
  CHECK(has(accepted.err,
            "data.train_labels: the same number of files and bytes, but other content"));
  CHECK((r.weights() != whole));
  const Ran longer = r.train("--set training.epochs=3");
  CHECK(longer.code == 0);
  CHECK(!has(longer.err, "changed"));
  r.folder.write("labels", labels_file(12));
  CHECK(r.train("--set training.epochs=4").code == 2);
}

TEST_CASE("more samples are recognised by the sizes and by the number of samples") {
  const ImageRun r;
  r.cut();
  r.folder.write("images", images_file(16));
  r.folder.write("labels", labels_file(16));
  const Ran refused = r.train();
  CHECK(refused.code == 2);
  CHECK(has(refused.err, "data.train_images: 208 bytes then, 272 now"));
  CHECK(has(refused.err, "data.train_labels: 20 bytes then, 24 now"));
  CHECK(has(refused.err, "12 training samples then, 16 now"));
  // A run that starts over takes any data.
  CHECK(r.train("--resume never --quiet").code == 0);
}

TEST_CASE(
    "a checkpoint that is named is compared too, and resharding keeps its record of the data") {
  const ImageRun r;
  const std::string part = (r.folder.path / "two").string();
  REQUIRE(run_binary("checkpoint reshard " + (r.run / "checkpoints/step-00000002").string() +
                     " --stages 2 --output " + part)
              .code == 0);
  r.folder.write("labels", labels_file(12).replace(12, 1, 1, '\2'));
  const std::string elsewhere = "--output " + (r.folder.path / "elsewhere").string();
  const Ran refused =
      run_binary("train " + r.config.string() + " " + elsewhere + " --resume " + part);
  CHECK(refused.code == 2);
  CHECK(has(refused.err, "data.train_labels"));
}

TEST_CASE(
    "large files are compared at their ends and in pieces between them, across a list of files") {
  constexpr std::streamoff kMiB = 1 << 20;
  struct TokenRun : KilledRun {
    TokenRun() {
      for (const char* name : {"first.bin", "second.bin"}) {
        folder.write(name, std::string("\1\0\2\0", 4));
        fs::resize_file(folder.path / name, 64 * kMiB);  // with holes, which take no space
      }
      begin(token_config("kind = \"tokens\"\ntrain_tokens = [\"first.bin\", \"second.bin\"]\n"));
    }
  };
  const TokenRun r;
  r.cut();
  const fs::path first = r.folder.path / "first.bin", second = r.folder.path / "second.bin";
  const auto changed = [&](const fs::path& file, std::streamoff at) {
    set_byte(file, at, 1);
    const Ran ran = r.train("--quiet");
    set_byte(file, at, 0);
    return ran.code == 2 &&
           has(ran.err, "data.train_tokens: the same number of files and bytes, but other content");
  };
  CHECK(changed(first, 4));
  CHECK(changed(second, 64 * kMiB - 2));
  CHECK(changed(second, 64 * kMiB - kMiB));
  // The 64 stretches of 1 MiB begin 127/63 MiB from one another; this is the second one's last.
  CHECK(changed(first, 127 * kMiB / 63 + kMiB - 4));
  CHECK(r.train("--quiet").code == 0);
}
