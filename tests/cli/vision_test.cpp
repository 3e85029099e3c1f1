// ResNet-18 for 32x32 images with an eighth of its channels on smaller images: where it is cut and
// who runs the parts changes no bit of what is trained, nor of what an evaluation finds, which goes
// by BatchNorm's running statistics.
#include <cstdlib>

#include "catch.hpp"
#include "places.hpp"
#include "run_folder.hpp"

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  for (; at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

std::string narrow_resnet() {
  std::string text = bytes_of(source_tree() / "models" / "resnet18-32.toml");
  replace_all(text, "channels = 64", "channels = 8");
  replace_all(text, "channels = 128", "channels = 16");
  replace_all(text, "channels = 256", "channels = 32");
  replace_all(text, "channels = 512", "channels = 40");  // no multiple of a block's 16
  replace_all(text, "[3, 32, 32]", "[3, 16, 16]");
  return text;
}

const char* const config = R"(
[model]
file = "resnet.toml"
[data]
kind = "synthetic"
train_samples = 24
validation_samples = 13
batch_size = 12
[pipeline]
schedule = "1f1b"
microbatches = 3
[optimizer]
lr = 0.05
momentum = 0.9
[training]
steps = 4
[validation]
every_steps = 2
batch_size = 6
)";

}  // namespace

TEST_CASE("ResNet-18: stages and workers change no bit, evaluation included") {
  const TestFolder folder;
  folder.write("resnet.toml", narrow_resnet());
  const std::string file = folder.write("config.toml", config).string();
  std::string weights;
  std::vector<json> losses;
  json validation;
  for (const std::string stages : {"1", "2", "4"})
    for (const std::string workers : {"threads", "inline"}) {
      INFO(stages << " stages, " << workers);
      const fs::path run = folder.path / (stages + workers);
      const Ran ran = run_binary("train --quiet " + file + " --output " + run.string() +
                                 " --set pipeline.stages=" + stages +
                                 " --set 'hardware.workers=\"" + workers + "\"'");
      INFO(ran.err);
      REQUIRE(ran.code == 0);
      if (weights.empty()) {
        weights = bytes_of(run / "model.safetensors");
        losses = losses_of(run);
        validation = events_of(run).back()["validation"];
        CHECK(losses.size() == 4);
        CHECK(validation["step"] == 4);
      }
      CHECK((bytes_of(run / "model.safetensors") == weights));
      CHECK(losses_of(run) == losses);
      CHECK(events_of(run).back()["validation"] == validation);
    }

  const std::string eval =
      "eval --json " + file + " --model " + (folder.path / "1threads/model.safetensors").string();
  for (const std::string stages : {"1", "2", "4"}) {
    const Ran ran = run_binary(eval + " --set pipeline.stages=" + stages);
    INFO(stages << " stages: " << ran.err);
    REQUIRE(ran.code == 0);
    const json found = json::parse(ran.out);
    for (const char* key : {"loss", "accuracy", "top5"}) CHECK(found[key] == validation[key]);
  }
}
