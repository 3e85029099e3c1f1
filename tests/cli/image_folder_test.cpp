// Training on folders of images, from PNG and JPEG files to weights: threads, resuming, bad files.
#include "catch.hpp"
#include "data/made_images.hpp"
#include "run_folder.hpp"

using namespace pipetrain::test;
namespace fs = std::filesystem;

namespace {

// Three classes, distinguished by which colour is bright; 12 images each, of many sizes.
struct Pictures {
  TestFolder folder;
  fs::path config;
  Pictures() {
    for (int i = 0; i < 36; ++i) {
      std::string colour(3, static_cast<char>(20 + i));
      colour[static_cast<std::size_t>(i % 3)] = static_cast<char>(150 + i);
      const Pixels pixels = plain(10 + i % 5, 16 - i % 4, colour);
      const std::string name = std::string(1, "rgb"[i % 3]) + "/" + std::to_string(i);
      for (const std::string part : {"train/", "val/"}) {
        fs::create_directories((folder.path / part / name).parent_path());
        folder.write(part + name + (i % 2 ? ".png" : ".jpg"),
                     i % 2 ? png_file(pixels) : jpeg_file(pixels));
      }
    }
    config = folder.write("pictures.toml", R"(
[model]
name = "small"
input = { shape = [3, 8, 8] }
layers = [
  { name = "conv", kind = "conv2d", out_channels = 4, kernel = 3 },
  { name = "relu", kind = "relu" },
  { name = "flat", kind = "flatten" },
  { name = "fc", kind = "linear", out_features = 3 },
]
[data]
kind = "image_folder"
train_folder = "train"
validation_folder = "val"
random_resized_crop = true
resize = 9
flip = true
mean = [0.4, 0.4, 0.4]
std = 0.3
batch_size = 12
[pipeline]
stages = 2
microbatches = 2
[optimizer]
lr = 0.1
momentum = 0.9
[training]
epochs = 12
[validation]
every_epochs = 12
)");
  }
  Ran train(const std::string& output, const std::string& options = "") const {
    const Ran ran = run_binary("train " + config.string() + " --quiet --output " +
                               (folder.path / output).string() + " " + options);
    INFO(ran.err);
    CHECK(ran.code == 0);
    return ran;
  }
  std::string weights(const std::string& output) const {
    return bytes_of(folder.path / output / "model.safetensors");
  }
};

}  // namespace

TEST_CASE("images in folders are learnt, to the same bits with any threads and stages") {
  const Pictures pictures;
  pictures.train("one");
  for (const nlohmann::json& event : events_of(pictures.folder.path / "one"))
    if (event["event"] == "validation") CHECK(event["accuracy"] == 1.0);
  pictures.train("many", "--set data.decode_threads=3 --set pipeline.stages=4");
  CHECK(pictures.weights("many") == pictures.weights("one"));
  // Stopped after 4 of the 12 epochs and resumed: crops and flips are those of the mini-batch.
  pictures.train("again", "--set training.epochs=4");
  pictures.train("again", "--set data.decode_threads=2");
  CHECK(pictures.weights("again") == pictures.weights("one"));
}

TEST_CASE("the names of classes stay with the weights, and others are refused") {
  const Pictures pictures;
  const fs::path& folder = pictures.folder.path;
  pictures.train("run", "--set training.epochs=4");
  const nlohmann::json names = {"b", "g", "r"};
  CHECK(nlohmann::json::parse(bytes_of(folder / "run" / "classes.json")) == names);
  const std::string eval =
      "eval " + pictures.config.string() + " --output " + (folder / "run").string();
  CHECK(has(run_binary(eval).out, "\nclasses  0 b, 1 g, 2 r\n"));
  CHECK(nlohmann::json::parse(run_binary(eval + " --json").out)["classes"] == names);
  const std::string dry =
      "train " + pictures.config.string() + " --dry-run --output " + (folder / "dry").string();
  CHECK(has(run_binary(dry).out, "\nclasses  0 b, 1 g, 2 r\n"));
  CHECK(nlohmann::json::parse(run_binary(dry + " --json").out)["classes"] == names);
  for (const char* part : {"train", "val"}) fs::rename(folder / part / "g", folder / part / "x");
  const std::string train =
      "train " + pictures.config.string() + " --quiet --output " + (folder / "run").string();
  for (const std::string& command : {eval, train}) {
    const Ran ran = run_binary(command);
    INFO(command << "\n-> " << ran.err);
    CHECK(ran.code == 3);
    CHECK(has(ran.err, (folder / "train").string() + ": its classes are not those that "));
    CHECK(has(ran.err, "label 1 was 'g' and is 'r' here; missing: g; new: x; "));
  }
  fs::rename(folder / "train" / "x", folder / "train" / "g");
  fs::remove_all(folder / "val" / "x");  // some may be missing there
  CHECK(run_binary(eval).code == 0);
  pictures.folder.write("run/classes.json", "[1]");
  CHECK(has(run_binary(eval).err, "classes.json: this is not a list of class names"));
}

TEST_CASE("images that were added, changed or renamed keep a run from resuming") {
  const Pictures pictures;
  const fs::path train = pictures.folder.path / "train";
  pictures.train("run", "--set training.epochs=4");
  const auto refusal = [&] {
    const Ran ran = run_binary("train " + pictures.config.string() + " --quiet --output " +
                               (pictures.folder.path / "run").string());
    CHECK(ran.code == 2);
    return ran.err;
  };
  fs::copy_file(train / "g" / "1.png", train / "g" / "99.png");
  CHECK(has(refusal(), "data.train_folder: 36 files then, 37 now\n  36 training samples then, 37"));
  fs::remove(train / "g" / "99.png");
  fs::rename(train / "g" / "1.png", train / "g" / "99.png");
  CHECK(has(refusal(), "data.train_folder: the same number of files and bytes, but other content"));
  fs::rename(train / "g" / "99.png", train / "g" / "1.png");
  pictures.train("run");
}

TEST_CASE("a damaged image is skipped and named once") {
  const Pictures pictures;
  pictures.folder.write("train/g/1.png", "damaged");
  const Ran ran = pictures.train("run", "--set data.on_bad_image='\"skip\"'");
  const std::size_t told = ran.err.find("train/g/1.png: this is neither JPEG nor PNG");
  REQUIRE(told != std::string::npos);
  CHECK(has(ran.err, "left out: the next image takes its place (1 so far)"));
  CHECK(ran.err.find("1.png", told + 14) == std::string::npos);
}
