// Where a model is cut and who runs the parts changes no bit of what a flushing schedule trains:
// one model.safetensors and one list of losses for stages 1 to 4, on threads and inline.

#include "catch.hpp"
#include "places.hpp"
#include "run_folder.hpp"

namespace fs = std::filesystem;

TEST_CASE("stages and workers change no bit of the weights, nor a loss") {
  const std::string schedule = GENERATE("gpipe", "1f1b");
  const std::string model = GENERATE("lenet5", "small-residual");
  const TestFolder folder;
  const fs::path models = source_tree() / "models";
  const fs::path config =
      folder.write("config.toml", "[model]\nfile = \"" + (models / (model + ".toml")).string() +
                                      R"("
[data]
kind = "glyphs"
train_samples = 80
validation_samples = 20
batch_size = 24
drop_last = false
[pipeline]
microbatches = 4
schedule = ")" + schedule + R"("
[optimizer]
lr = 0.05
momentum = 0.9
max_norm = 1.0
[training]
steps = 6
[validation]
every_steps = 3
batch_size = 16
)");
  std::string weights;
  std::vector<nlohmann::json> losses;
  for (const std::string stages : {"1", "2", "3", "4"})
    for (const std::string workers : {"threads", "inline"}) {
      INFO(schedule << ", " << model << ", " << stages << " stages, " << workers);
      const fs::path run = folder.path / (stages + workers);
      const Ran ran = run_binary("train --quiet " + config.string() + " --output " + run.string() +
                                 " --set pipeline.stages=" + stages +
                                 " --set 'hardware.workers=\"" + workers + "\"'");
      INFO(ran.err);
      REQUIRE(ran.code == 0);
      const std::string these_weights = bytes_of(run / "model.safetensors");
      const auto these_losses = losses_of(run);
      if (weights.empty()) {
        weights = these_weights;
        losses = these_losses;
        CHECK(losses.size() == 6);
      }
      CHECK((these_weights == weights));
      CHECK(these_losses == losses);
    }
}
