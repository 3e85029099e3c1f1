// Early stopping, the best checkpoint, and how many are kept.
#include "catch.hpp"
#include "run_folder.hpp"

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::vector<double> validation_losses(const fs::path& run) {
  std::vector<double> losses;
  for (const json& event : events_of(run))
    if (event["event"] == "validation") losses.push_back(event["loss"]);
  return losses;
}

}  // namespace

TEST_CASE("training stops after a number of validations without improvement") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  // A rate of 0 never improves anything: the first validation stays the best.
  const std::string train = "train --quiet " + folder.config().string() + " --output " +
                            run.string() +
                            " --set optimizer.lr=0.0 --set training.epochs=50 "
                            "--set validation.early_stopping=3 --set checkpoint.every_epochs=1";
  REQUIRE(run_binary(train).code == 0);
  CHECK(validation_losses(run).size() == 4);
  const json end = events_of(run).back();
  CHECK(end["stopped_by"] == "early_stopping");
  CHECK(end["step"] == 12);
  CHECK(end["best_validation"]["step"] == 3);
  CHECK(fs::exists(run / "model.safetensors"));
  CHECK(bytes_of(run / "checkpoints/best") == "step-00000003\n");
  CHECK(bytes_of(run / "checkpoints/latest") == "step-00000012\n");
  CHECK(files_of(run / "checkpoints") == std::vector<std::string>{"best", "latest", "step-00000003",
                                                                  "step-00000009",
                                                                  "step-00000012"});
  CHECK(has(run_binary(train).err + run_binary(train + " --json").out, "finished"));

  const std::string metrics = bytes_of(run / "metrics.jsonl");
  const Ran longer = run_binary("train " + train.substr(14) + " --set training.epochs=60");
  CHECK(longer.code == 0);
  CHECK(has(longer.err, "stopped early, after 3 validations without progress"));
  CHECK(bytes_of(run / "metrics.jsonl") == metrics);
}

TEST_CASE("a run that stopped after one validation without improvement says so in the singular") {
  const TestFolder folder;
  const std::string train = "train " + folder.config().string() + " --output " +
                            (folder.path / "run").string() +
                            " --set optimizer.lr=0.0 --set validation.early_stopping=1 "
                            "--set checkpoint.every_epochs=1 --set training.epochs=";
  REQUIRE(run_binary(train + "9 --quiet").code == 0);
  CHECK(has(run_binary(train + "10").err, "stopped early, after 1 validation without progress"));
}

TEST_CASE("a validation whose loss is not finite is never the best one") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const Ran ran = run_binary("train " + folder.config().string() + " --output " + run.string() +
                             " --set optimizer.lr=1e30 --set 'training.on_nonfinite=\"skip\"' "
                             "--set training.epochs=50 --set validation.early_stopping=2");
  REQUIRE(ran.code == 0);
  const json end = events_of(run).back();
  CHECK(end["stopped_by"] == "early_stopping");
  CHECK_FALSE(end.contains("best_validation"));
  CHECK_FALSE(fs::exists(run / "checkpoints/best"));
  CHECK(has(ran.out, "loss nan"));
}

TEST_CASE("the best checkpoint is that of the smallest validation loss") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  REQUIRE(run_binary("train --quiet " + folder.config().string() + " --output " + run.string() +
                     " --set optimizer.lr=0.4 --set training.epochs=8 "
                     "--set checkpoint.every_steps=100 --set checkpoint.keep_latest=1")
              .code == 0);
  const std::vector<double> losses = validation_losses(run);
  const auto best = std::ranges::min_element(losses) - losses.begin();
  const std::string name = bytes_of(run / "checkpoints/best");
  CHECK(std::stoi(name.substr(5)) == 3 * (best + 1));
  const Ran eval = run_binary("eval --json " + folder.config().string() + " --model " +
                              (run / "checkpoints/best").string());
  REQUIRE(eval.code == 0);
  CHECK(json::parse(eval.out)["loss"].get<double>() == losses[static_cast<std::size_t>(best)]);
}

TEST_CASE("evaluation gives the same before, between and after, with any batch size") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const std::string config = folder.config().string();
  REQUIRE(run_binary("train --quiet " + config + " --output " + run.string() +
                     " --set validation.before_first_step=true --set checkpoint.every_epochs=1")
              .code == 0);
  const std::vector<double> losses = validation_losses(run);
  REQUIRE(losses.size() == 3);
  for (const int size : {1, 7, 40, 1000})
    for (const int step : {3, 6}) {
      const Ran eval =
          run_binary("eval --json " + config + " --model " +
                     (run / "checkpoints" / ("step-0000000" + std::to_string(step))).string() +
                     " --set validation.batch_size=" + std::to_string(size));
      INFO(eval.err);
      REQUIRE(eval.code == 0);
      CHECK(json::parse(eval.out)["loss"].get<double>() ==
            Approx(losses[static_cast<std::size_t>(step / 3)]).epsilon(1e-6));
    }
}
